"""Written by ``make aio``: each verb of a store, its parts and its database, as a coroutine."""
