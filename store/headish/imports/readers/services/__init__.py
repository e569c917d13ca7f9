"""What services export: chat servers, logs of evaluations, traces."""
