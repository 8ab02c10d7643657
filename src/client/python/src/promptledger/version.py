"""The version of the package, which is that of the service."""

version = "0.4.0"
