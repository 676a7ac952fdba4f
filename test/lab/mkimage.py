#!/usr/bin/env python3
"""Makes an OCI archive from folders, for `ctr images import`.

mkimage.py OUT.tar NAME LAYERDIR[,LAYERDIR…] [--entrypoint JSON] [--cmd JSON] [--env K=V …] [--user UID:GID]
"""
import argparse
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile

LEFT_OUT = ["./dev/*", "./proc/*", "./sys/*", "./var/cache/apt/archives/*.deb",
            "./var/lib/apt/lists/*"]
PATH = "PATH=/opt/ray/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OCI = "application/vnd.oci.image."


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def blob(value):
    data = json.dumps(value).encode()
    return data, hashlib.sha256(data).hexdigest()


def pack_layers(folders, scratch):
    """-> [(tar file, digest, size)] of the folders, bottom first."""
    layers = []
    for i, folder in enumerate(folders):
        path = os.path.join(scratch, f"{i}.tar")
        skip = [f"--exclude={pattern}" for pattern in LEFT_OUT]
        subprocess.run(["tar", "-C", folder, "--numeric-owner", *skip, "-cf", path, "."], check=True)
        layers.append((path, sha256(path), os.path.getsize(path)))
    return layers


def config_of(options, layers):
    return {
        "architecture": "amd64", "os": "linux",
        "config": {"Env": [PATH] + options.env, "Entrypoint": json.loads(options.entrypoint) or None,
                   "Cmd": json.loads(options.cmd) or None, "WorkingDir": "/", "User": options.user},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + d for _, d, _ in layers]},
    }


def manifest_of(config, config_digest, layers):
    return {
        "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
        "config": {"mediaType": OCI + "config.v1+json", "digest": "sha256:" + config_digest,
                   "size": len(config)},
        "layers": [{"mediaType": OCI + "layer.v1.tar", "digest": "sha256:" + d, "size": s}
                   for _, d, s in layers],
    }


def index_of(name, manifest, manifest_digest):
    return {
        "schemaVersion": 2,
        "manifests": [{
            "mediaType": OCI + "manifest.v1+json", "digest": "sha256:" + manifest_digest,
            "size": len(manifest), "platform": {"architecture": "amd64", "os": "linux"},
            "annotations": {"io.containerd.image.name": name,
                            "org.opencontainers.image.ref.name": name},
        }],
    }


def write_archive(options, scratch):
    layers = pack_layers(options.layers.split(","), scratch)
    config, config_digest = blob(config_of(options, layers))
    manifest, manifest_digest = blob(manifest_of(config, config_digest, layers))
    index, _ = blob(index_of(options.name, manifest, manifest_digest))
    with tarfile.open(options.out, "w") as archive:
        for name, data in [("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
                           ("index.json", index),
                           ("blobs/sha256/" + config_digest, config),
                           ("blobs/sha256/" + manifest_digest, manifest)]:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for path, digest, _ in layers:
            archive.add(path, "blobs/sha256/" + digest)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("name")
    parser.add_argument("layers")
    parser.add_argument("--entrypoint", default="[]")
    parser.add_argument("--cmd", default="[]")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--user", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(options.out))) as scratch:
        write_archive(options, scratch)


if __name__ == "__main__":
    main()
