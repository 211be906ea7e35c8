"""A local server that speaks the Hugging Face Hub's documented protocol, for tests.

It answers `/api/{models,datasets}/{id}[/revision/{revision}]`, the file lists under
`/api/{models,datasets}/{id}/tree/{revision}[/{folder}]` and, with the headers that
huggingface_hub relies on (ETag, X-Repo-Commit, X-Error-Code), `/{id}/resolve/{revision}/{file}`,
whole or the part that a `Range` asks for. Uploads are those by LFS: `/api/repos/create`,
`/api/validate-yaml`, `preupload`, the LFS batch, `PUT` of each large file, and `commit`.
"""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "a" * 40


@dataclass
class LocalHub:
    """Repositories by `models/owner/name`; `failing` gives every answer that status.

    `served_bytes` counts what files gave; of so many next answers as `dropping` says half is sent
    before the line goes dead.
    """

    endpoint: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    info: dict[str, dict[str, Any]] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    failing: int = 0
    dropping: int = 0
    served_bytes: int = 0
    requests: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    stored: dict[str, bytes] = field(default_factory=dict)

    def add(self, name: str, files: Mapping[str, bytes], **info: Any) -> None:
        """Publish a repository; `info` is what its page says beside the files."""
        self.files[name] = dict(files)
        self.info[name] = info


def is_large(path: str) -> bool:
    """Return whether the Hub stores a file by LFS."""
    return path.endswith((".gguf", ".safetensors", ".png"))


@contextmanager
def serve() -> Iterator[LocalHub]:
    """Run a hub on a free port of this machine until the block ends."""
    hub = LocalHub()

    class Handler(_Handler):
        served = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    served: LocalHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""

    def do_HEAD(self) -> None:
        """Answer with headers alone."""
        self.answer(body=False)

    def do_GET(self) -> None:
        """Answer with headers and body."""
        self.answer(body=True)

    def do_PUT(self) -> None:
        """Keep the content of a large file, by its SHA-256."""
        data = self.rfile.read(int(self.headers["content-length"]))
        self.served.requests.append(f"PUT {self.path.strip('/')}")
        self.served.stored[hashlib.sha256(data).hexdigest()] = data
        self.send(200, b"", {}, body=True)

    def do_POST(self) -> None:
        """Take part in an upload; without a token nothing may be written."""
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = unquote(urlsplit(self.path).path).strip("/")
        self.served.requests.append(f"POST {path}")
        token = self.headers.get("authorization")
        self.served.tokens.add(token or "")
        if self.served.failing or not token:
            self.send(self.served.failing or 401, b"{}", {}, body=True)
            return
        if path.endswith("/commit/main"):
            said: Any = self.commit(
                f"models/{path.split('/', 2)[2].partition('/commit/')[0]}", data
            )
        elif path.endswith("/preupload/main"):
            said = {
                "files": [
                    {
                        "path": each["path"],
                        "uploadMode": "lfs" if is_large(each["path"]) else "regular",
                        "shouldIgnore": False,
                    }
                    for each in json.loads(data)["files"]
                ]
            }
        elif path.endswith("/objects/batch"):
            said = {
                "transfer": "basic",
                "objects": list(map(self.offer, json.loads(data)["objects"])),
            }
        elif path == "api/repos/create":
            read = json.loads(data)
            name = f"{read['organization']}/{read['name']}"
            self.served.files.setdefault(f"models/{name}", {})
            self.served.info[f"models/{name}"] = {"visibility": read.get("visibility")}
            said = {"url": f"{self.served.endpoint}/{name}"}
        else:
            said = {"errors": [], "warnings": []}
        self.send(200, json.dumps(said).encode(), {"Content-Type": "application/json"}, body=True)

    def offer(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return where a large file is to be put."""
        place = f"{self.served.endpoint}/lfs/{wanted['oid']}"
        return {**wanted, "actions": {"upload": {"href": place}}}

    def commit(self, name: str, data: bytes) -> dict[str, Any]:
        """Add the files of a commit to a repository."""
        for line in data.splitlines():
            read = json.loads(line)
            value = read["value"]
            if read["key"] == "file":
                self.served.files[name][value["path"]] = base64.b64decode(value["content"])
            elif read["key"] == "lfsFile":
                self.served.files[name][value["path"]] = self.served.stored[value["oid"]]
        place = f"{self.served.endpoint}/{name.removeprefix('models/')}/commit/{COMMIT}"
        return {"success": True, "commitUrl": place, "commitOid": COMMIT}

    def answer(self, *, body: bool) -> None:
        """Sort a request by its path."""
        path = unquote(urlsplit(self.path).path).strip("/")
        self.served.requests.append(f"{self.command} {path}")
        if token := self.headers.get("authorization"):
            self.served.tokens.add(token)
        if self.served.failing:
            self.send(self.served.failing, b"", {}, body=body)
        elif path.startswith("api/"):
            self.describe(path.removeprefix("api/"), body=body)
        else:
            self.give(path, body=body)

    def describe(self, path: str, *, body: bool) -> None:
        """Answer what a repository holds."""
        name, _, tree = path.partition("/tree/")
        if tree:
            self.list_tree(name, tree.partition("/")[2], body=body)
            return
        name, _, revision = path.partition("/revision/")
        if name not in self.served.files:
            self.send(401, b"", {"X-Error-Code": "RepoNotFound"}, body=body)
        elif revision not in {"", "main", COMMIT}:
            self.send(404, b"", {"X-Error-Code": "RevisionNotFound"}, body=body)
        else:
            files = self.served.files[name]
            siblings = [{"rfilename": file, "size": len(data)} for file, data in files.items()]
            page = {
                "id": name.split("/", 1)[1],
                "sha": COMMIT,
                "siblings": siblings,
                "gated": "manual" if name in self.served.gated else False,
                **self.served.info[name],
            }
            headers = {"Content-Type": "application/json"}
            self.send(200, json.dumps(page).encode(), headers, body=body)

    def list_tree(self, name: str, folder: str, *, body: bool) -> None:
        """Answer which files lie in a folder of a repository."""
        inside = [file for file in self.served.files.get(name, {}) if file.startswith(folder)]
        if not inside:
            self.send(404, b"", {"X-Error-Code": "EntryNotFound"}, body=body)
            return
        rows = [
            {"type": "file", "path": file, "size": len(self.served.files[name][file]), "oid": "0"}
            for file in inside
        ]
        self.send(200, json.dumps(rows).encode(), {"Content-Type": "application/json"}, body=body)

    def give(self, path: str, *, body: bool) -> None:
        """Answer with a file."""
        name, _, rest = path.partition("/resolve/")
        name = name if name.startswith("datasets/") else f"models/{name}"
        file = rest.partition("/")[2]
        data = self.served.files.get(name, {}).get(file)
        if name in self.served.gated:
            self.send(403, b"", {"X-Error-Code": "GatedRepo"}, body=body)
        elif data is None:
            headers = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}
            self.send(404, b"", headers, body=body)
        else:
            etag = hashlib.sha1(data).hexdigest()  # noqa: S324 - git's own name for a blob
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}
            if asked := self.headers.get("range"):
                self.give_part(data, asked, headers, body=body)
            else:
                self.served.served_bytes += len(data) if body else 0
                self.send(200, data, headers, body=body)

    def give_part(self, data: bytes, asked: str, headers: dict[str, str], *, body: bool) -> None:
        """Answer with the bytes that a range names, its last one included."""
        first, last = map(int, asked.removeprefix("bytes=").split("-"))
        part = data[first : last + 1]
        if not part:
            self.send(416, b"", {"Content-Range": f"bytes */{len(data)}"}, body=body)
            return
        said = f"bytes {first}-{first + len(part) - 1}/{len(data)}"
        self.served.served_bytes += len(part)
        if self.served.dropping and len(part) > 1:
            self.served.dropping -= 1
            self.send(206, part, {**headers, "Content-Range": said}, body=False)
            self.wfile.write(part[: len(part) // 2])
            self.close_connection = True
            return
        self.send(206, part, {**headers, "Content-Range": said}, body=body)

    def send(self, status: int, data: bytes, headers: Mapping[str, str], *, body: bool) -> None:
        """Write one answer."""
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)
