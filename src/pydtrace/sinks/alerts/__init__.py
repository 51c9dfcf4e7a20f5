"""Alerts: records of a clause, given to a receiver."""
