"""The pinned external programs: what they are (``tools.yaml``), and how each is found, fetched or built."""

from toolchain.doctor import ToolStatus, status
from toolchain.golang import go_command
from toolchain.gomodules import module_zip
from toolchain.pulumi import language_host, pulumi_environment
from toolchain.sources import obtain, obtain_all

__all__ = [
    "ToolStatus",
    "go_command",
    "language_host",
    "module_zip",
    "obtain",
    "obtain_all",
    "pulumi_environment",
    "status",
]
