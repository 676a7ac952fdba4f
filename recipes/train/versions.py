"""Prints what this container holds as one line of JSON: versions, and the NCCL network plugin.

Run in a Ray pod by exec. Nothing is imported that takes long: versions come from the packages'
metadata. The plugin's own name is what NCCL_NET can be pinned to; it is read from its ABI struct.
"""
import ctypes
import glob
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import resource


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def first(*packages):
    return next((v for v in map(version, packages) if v), None)


def torch_cuda():
    """torch.version.cuda without importing torch."""
    spec = importlib.util.find_spec("torch")
    if not spec or not spec.submodule_search_locations:
        return None
    path = os.path.join(spec.submodule_search_locations[0], "version.py")
    try:
        found = re.search(r"^cuda[^=]*= *'([^']+)'", open(path).read(), re.M)
    except OSError:
        return None
    return found and found.group(1)


def plugin_paths():
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders += ["/opt/amazon/ofi-nccl/lib64", "/opt/amazon/ofi-nccl/lib", "/opt/aws-ofi-nccl/lib"]
    for folder in filter(None, folders):
        for name in ("libnccl-net-ofi.so", "libnccl-net-aws-ofi.so", "libnccl-net.so"):
            yield from glob.glob(os.path.join(folder, name))


def plugin():
    """The network plugin: its file and the name that its newest ABI struct carries."""
    for path in plugin_paths():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            return {"path": path, "name": None}
        for abi in range(14, 3, -1):
            try:
                name = ctypes.c_char_p.in_dll(library, "ncclNetPlugin_v%d" % abi).value
            except ValueError:
                continue
            return {"path": path, "name": name.decode(), "abi": abi}
        return {"path": path, "name": None}
    return None


memlock = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
print(json.dumps({
    "ray": version("ray"), "python": platform.python_version(), "torch": version("torch"),
    "torchvision": version("torchvision"), "cuda": torch_cuda(),
    "nccl": first("nvidia-nccl-cu13", "nvidia-nccl-cu12"), "plugin": plugin(),
    "memlock": None if memlock == resource.RLIM_INFINITY else memlock,
}, sort_keys=True))
