"""Starts the servers, runs the clients in turn and reports what they took."""
