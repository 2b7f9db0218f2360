"""A command behind an emulated link: what its options mean, and what is shown of it.

Nothing here may start a thread, nor import what does: a process with several cannot enter a user namespace.
"""
