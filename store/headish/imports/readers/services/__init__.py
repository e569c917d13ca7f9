"""Readers of exports from services: chat servers, logs of evaluations, traces."""
