"""What goes over the wire: each operation as a command, and what its reply means.

Pure: no sockets, no clock. Both shells, `tidegate.aio` and `tidegate.sync`, send what is built here and hand the
replies back to it, so an operation is written once. One module per subject, with its values and its commands.
"""
