"""Windows, answers and rules of the providers' APIs, and the suites that several providers share."""
