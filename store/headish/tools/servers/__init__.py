"""Tool servers: list their tools, and run the calls of a thread on them.

``read_config`` reads the list of servers, ``ToolServers`` starts and calls them. The package ``mcp``, which speaks the
Model Context Protocol, is imported only when a server starts.
"""

from __future__ import annotations

from headish.tools.servers.client import ToolServers
from headish.tools.servers.config import HttpServer, ServerConfig, StdioServer, read_config
from headish.tools.servers.results import RESULT_LIMIT_BYTES

__all__ = ["RESULT_LIMIT_BYTES", "HttpServer", "ServerConfig", "StdioServer", "ToolServers", "read_config"]
