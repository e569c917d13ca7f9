"""OpenChatML 0.1: messages between ``<|im_start|>`` and ``<|im_end|>``."""
