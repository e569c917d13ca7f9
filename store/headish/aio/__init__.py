"""headish for asyncio: the same verbs, awaited. They run in threads; there is one code path, and it is the sync one."""
