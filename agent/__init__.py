"""clock-agent: can the programs on this host trust its clock?"""

__version__ = "0.1.0"
