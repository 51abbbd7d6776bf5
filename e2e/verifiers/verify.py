#!/usr/bin/env python3
"""Verifies a file of Writ's audit trail with only Python's standard library.

    verify.py FILE [--key VKEY]... [--from SIZE:ROOT]

It prints a verdict as JSON. Exit codes: 0 verified with a trusted key, 1 not verified, 2 usage error or unreadable
input, 3 intact, but without a trusted key. It was written from docs/reference/audit-formats.md and shares no code with the product.
"""
import argparse
import base64
import binascii
import datetime
import functools
import hashlib
import json
import re
import sys

MAX_INT = 2**53 - 1
EMPTY = hashlib.sha256(b"").digest()
BUNDLE_CHECKS = ("format", "trust", "checkpoint", "entries", "heads", "inclusion", "consistency", "from", "times", "disclosures", "manifest")


class Refused(Exception):
    """A failed check, with the reason for the verdict."""

    def __init__(self, reason, text=""):
        super().__init__(text or reason)
        self.reason = reason


class Unknown(Exception):
    """An input that is not a file of the audit trail, or that cannot be read."""


def form(ok, text="the form"):
    if not ok:
        raise Refused("format_invalid", text)


# ---- Ed25519 (RFC 8032, 5.1.7, without cofactor) -------------------------------------------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_M1 = pow(2, (P - 1) // 4, P)


def decompress(raw):
    """Returns the point of 32 bytes in extended coordinates, or None if they are not its canonical encoding."""
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P != u:
        x = x * ROOT_M1 % P
        if v * x * x % P != u:
            return None
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


BASE = decompress((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


@functools.lru_cache(maxsize=4096)
def ed25519(public, sig, message):
    if len(public) != 32 or len(sig) != 64:
        return False
    a, s = decompress(public), int.from_bytes(sig[32:], "little")
    if a is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(sig[:32] + public + message).digest(), "little") % L
    minus = (P - a[0], a[1], 1, P - a[3])
    both, r = add(BASE, minus), (0, 1, 1, 0)
    for bit in range(252, -1, -1):
        r = add(r, r)
        pick = (s >> bit & 1, k >> bit & 1)
        if pick != (0, 0):
            r = add(r, {(1, 0): BASE, (0, 1): minus, (1, 1): both}[pick])
    z = pow(r[2], -1, P)
    return ((r[1] * z % P) | (r[0] * z % P & 1) << 255).to_bytes(32, "little") == sig[:32]


# ---- canonical texts -----------------------------------------------------------------------------------------------

ESCAPE = rb'\\(?:["\\bfnrt]|u00(?:0[1-7bef]|1[0-9a-f]))'
STRING = rb'"([^"\\\x00-\x1f]*(?:' + ESCAPE + rb'[^"\\\x00-\x1f]*)*)"'
STRING_RE, ESCAPE_RE = re.compile(STRING), re.compile(ESCAPE)
SHORT = {b'\\"': b'"', b"\\\\": b"\\", b"\\b": b"\b", b"\\f": b"\f", b"\\n": b"\n", b"\\r": b"\r", b"\\t": b"\t"}


def is_utf8(raw):
    try:
        raw.decode()
        return True
    except UnicodeDecodeError:
        return False


def unescape(raw):
    """Returns the bytes of a string between its quotation marks."""
    form(is_utf8(raw), "UTF-8")
    if b"\\" not in raw:
        return raw
    return ESCAPE_RE.sub(lambda m: SHORT.get(m[0]) or bytes([int(m[0][2:], 16)]), raw)


def b64(text, url=False):
    """Decodes canonical base64; base64url has no padding."""
    form(re.fullmatch(rb"[A-Za-z0-9_-]*" if url else rb"[A-Za-z0-9+/]*={0,2}", text), "base64")
    try:
        if url:
            raw = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
        else:
            raw = base64.b64decode(text)
    except binascii.Error:
        raise Refused("format_invalid", "base64") from None
    again = base64.urlsafe_b64encode(raw).rstrip(b"=") if url else base64.b64encode(raw)
    form(again == text, "base64")
    return raw


def hash32(text):
    raw = b64(text)
    form(len(raw) == 32, "a hash")
    return raw


def integer(text):
    form(re.fullmatch(rb"0|[1-9][0-9]{0,15}", text) and int(text) <= MAX_INT, "a number")
    return int(text)


STAMP = re.compile(rb"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.\d{6}Z", re.ASCII)


def is_stamp(text):
    m = STAMP.fullmatch(text)
    try:
        return bool(m and datetime.datetime(*map(int, m.groups())))
    except ValueError:
        return False


def check_origin(origin):
    form(len(origin) <= 200 and re.fullmatch(rb"[!-*,-~]+", origin), "an origin")
    segments = origin.split(b"/")
    form(len(segments) > 1 and not {b"", b".", b".."} & set(segments), "an origin")


TOKEN = re.compile(rb'[{}\[\],:]|true|false|0|-?[1-9][0-9]*|' + STRING)


class Members(dict):
    """An object, with the position of the value of each member in the document."""

    def __init__(self):
        super().__init__()
        self.span = {}


def canonical(data, depth=32):
    """Reads a document in the form of RFC 8785. Strings are returned as bytes."""
    at = 0

    def token():
        nonlocal at
        m = TOKEN.match(data, at)
        form(m, "JSON")
        at = m.end()
        return m[0]

    def value(t, left):
        form(left >= 0, "too deep")
        if t == b"{":
            return members(left)
        if t == b"[":
            return elements(left)
        if t in (b"true", b"false"):
            return t == b"true"
        if t[:1] == b'"':
            return unescape(t[1:-1])
        form(t[:1] not in b"}],:" and abs(int(t)) <= MAX_INT if len(t) < 20 else False, "a number")
        return int(t)

    def members(left):
        out, last, t = Members(), None, token()
        while t != b"}":
            if out:
                form(t == b",")
                t = token()
            form(t[:1] == b'"')
            name = unescape(t[1:-1])
            order = name.decode().encode("utf-16-be")
            form(last is None or last < order, "the order of members")
            last = order
            form(token() == b":")
            start = at
            out[name.decode()] = value(token(), left - 1)
            out.span[name.decode()] = (start, at)
            t = token()
        return out

    def elements(left):
        out, t = [], token()
        while t != b"]":
            if out:
                form(t == b",")
                t = token()
            out.append(value(t, left - 1))
            t = token()
        return out

    read = value(token(), depth)
    form(at == len(data), "trailing data")
    return read


def shape(value, **want):
    """Requires an object with these members; a member whose type is in a list is optional."""
    form(type(value) is Members and set(value) <= set(want), "members")
    for name, kind in want.items():
        optional = type(kind) is list
        form(optional or name in value, name)
        if name in value:
            form(type(value[name]) is (kind[0] if optional else kind), name)
    return value


# ---- tree (RFC 6962) -----------------------------------------------------------------------------------------------

def leaf_hash(leaf):
    return hashlib.sha256(b"\0" + leaf).digest()


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


class Edge:
    """The right edge of a tree: its complete subtrees, (level, hash) from the largest to the smallest."""

    def __init__(self, size=0, parts=()):
        self.size, self.parts = size, list(parts)

    def append(self, leaf):
        self.size += 1
        level = 0
        while self.parts and self.parts[-1][0] == level:
            leaf, level = node(self.parts.pop()[1], leaf), level + 1
        self.parts.append((level, leaf))

    def root(self):
        if not self.parts:
            return EMPTY
        return functools.reduce(lambda right, left: node(left, right), [h for _, h in reversed(self.parts)])


def proof(ok, text):
    if not ok:
        raise Refused("proof_invalid", text)


def check_inclusion(leaf, index, size, path, root):
    """RFC 9162, 2.1.3.2. Returns the subtrees to the left of the path, from the largest to the smallest."""
    proof(index < size, "size")
    fn, sn, left, level, r = index, size - 1, [], 0, leaf
    for p in path:
        proof(sn, "length")
        if fn & 1 or fn == sn:
            while fn and not fn & 1:
                fn, sn, level = fn >> 1, sn >> 1, level + 1
            r = node(p, r)
            left.append((level, p))
        else:
            r = node(r, p)
        fn, sn, level = fn >> 1, sn >> 1, level + 1
    proof(not sn, "length")
    proof(r == root, "root")
    return left[::-1]


def check_consistency(old, new, old_root, new_root, path):
    """RFC 9162, 2.1.4.2. Every tree extends the empty tree."""
    proof(old <= new, "size")
    if old in (0, new):
        proof(not path, "length")
        proof((old != new or old_root == new_root) and (old or old_root == EMPTY), "root")
        return
    proof(path, "length")
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    path = path if fn else [old_root] + path
    fr = sr = path[0]
    for p in path[1:]:
        proof(sn, "length")
        if fn & 1 or fn == sn:
            fr, sr = node(p, fr), node(p, sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, p)
        fn, sn = fn >> 1, sn >> 1
    proof(not sn, "length")
    proof(fr == old_root and sr == new_root, "root")


# ---- keys and notes ------------------------------------------------------------------------------------------------

DER = bytes.fromhex("302a300506032b6570032100")
RANK = ("next", "active", "retired", "revoked")


def vkey_of(origin, public):
    digest = hashlib.sha256(origin + b"\n\1" + public).digest()[:4]
    return b"%s+%s+%s" % (origin, digest.hex().encode(), base64.b64encode(b"\1" + public)), digest


class Key:
    def __init__(self, w):
        shape(w, alg=bytes, first_size=int, handover=[bytes], kid=bytes, last_size=[int], not_before=bytes, spki_pem=bytes,
              status=bytes, trusted_size=[int], use=bytes, vkey=[bytes])
        self.id, self.use, self.status = w["kid"], w["use"], w["status"].decode()
        form(w["alg"] == b"ed25519" and self.use in (b"checkpoint", b"statement") and self.status in RANK, "a key")
        form(("last_size" in w) == (self.status == "retired") and ("trusted_size" in w) == (self.status == "revoked"), "a key's end")
        form(is_stamp(w["not_before"]) and w["not_before"] != b"0001-01-01T00:00:00.000000Z", "a key's time")
        m = re.fullmatch(rb"-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=]{60})\n-----END PUBLIC KEY-----\n", w["spki_pem"])
        form(m, "a public key")
        der = b64(m[1])
        form(len(der) == 44 and der[:12] == DER, "a public key")
        self.public = der[12:]
        form(self.id == b"sha256:" + hashlib.sha256(der).hexdigest().encode(), "a key's id")
        self.vkey, self.handover = w.get("vkey", b""), w.get("handover", b"")
        form("vkey" not in w or self.vkey, "a verifier key")
        form("handover" not in w or self.handover and len(self.handover) <= 64 << 10, "a handover")
        self.origin, self.hash = self.vkey.partition(b"+")[0], None
        if self.use == b"checkpoint":
            check_origin(self.origin)
            made, self.hash = vkey_of(self.origin, self.public)
            form(made == self.vkey, "a verifier key")
        else:
            form(not self.vkey and not self.handover, "a statement key")
        self.first, self.last = w["first_size"], w.get("last_size", w.get("trusted_size", MAX_INT))
        form(self.first >= 0 and self.last >= 0 and (self.status != "retired" or self.last >= self.first), "a key's sizes")

    def admit(self, size):
        if self.status == "retired" and size > self.last:
            raise Refused("key_retired")
        if self.status == "next" or size > self.last or size < self.first:
            raise Refused("key_untrusted")

    def admits(self, size):
        try:
            self.admit(size)
            return True
        except Refused:
            return False


def pinned_key(text):
    """Requires the canonical form of a given verifier key."""
    parts = text.encode().split(b"+", 2)
    try:
        check_origin(parts[0])
        raw = b64(parts[2])
        if len(raw) == 33 and vkey_of(parts[0], raw[1:])[0] == text.encode():
            return text.encode()
    except (Refused, IndexError):
        pass
    raise Unknown("a given verifier key cannot be read")


SPACES = re.compile("[\u0009-\u000d \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


class Note:
    def __init__(self, text):
        form(len(text) <= 65536 and is_utf8(text) and not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", text), "a note")
        head, empty, tail = text.partition(b"\n\n")
        lines = head.split(b"\n")
        form(empty and len(lines) == 3, "a note's text")
        self.text, self.origin = head + b"\n", lines[0]
        self.size, self.root = integer(lines[1]), hash32(lines[2])
        check_origin(self.origin)
        form(self.size or self.root == EMPTY, "an empty tree")
        rows = tail.split(b"\n")
        form(rows.pop() == b"" and 1 <= len(rows) <= 16, "signature lines")
        self.lines = []
        for row in rows:
            dash, name, sig = (row.split(b" ", 2) + [b"", b""])[:3]
            form(dash == "\u2014".encode() and name and b"+" not in name and not SPACES.search(name.decode()), "a signature line")
            raw = b64(sig)
            form(len(raw) > 4 and (name, raw[:4]) not in [line[:2] for line in self.lines], "a signature line")
            self.lines.append((name, raw[:4], raw[4:]))

    def open(self, ring, need):
        """Verifies each line of a trusted key. Every key in need has to be among them."""
        known = {k.hash: k for k in ring if k.use == b"checkpoint" and k.origin == self.origin}
        if not known:
            raise Refused("key_untrusted")
        by = []
        for name, digest, sig in self.lines:
            if name == self.origin and digest in known:
                if not ed25519(known[digest].public, sig, self.text):
                    raise Refused("signature_invalid")
                by.append(known[digest])
        if not by:
            raise Refused("key_untrusted" if any(line[0] == self.origin for line in self.lines) else "signature_invalid")
        for k in by:
            k.admit(self.size)
        if not {k.id for k in need} <= {k.id for k in by}:
            raise Refused("signature_invalid")
        return self


def needed(ring, origin, size):
    return [k for k in ring if k.status == "active" and k.origin == origin and k.admits(size)]


def hands_over(old, new):
    try:
        if old.origin == new.origin and old.hash == new.hash:
            return False
        size = Note(new.handover).open([old, new], [old, new]).size
        return new.first == size and (old.status != "retired" or old.last == size)
    except Refused:
        return False


def trusted(listed, pins):
    ring = [k for k in listed if k.use == b"checkpoint"]
    if not pins:
        return ring
    all_keys, ring = ring, [k for k in ring if k.vkey in pins]
    for k in ring:
        if k.status == "next":  # the reader gives the key, so it is in use
            k.status = "active"
    if not ring:
        raise Refused("key_untrusted")
    grown = True
    while grown:
        grown = False
        for k in all_keys:
            if k.handover and k not in ring and any(hands_over(old, k) for old in ring):
                ring.append(k)
                grown = True
    return ring


def parse_keys(listed):
    form(type(listed) is list and 1 <= len(listed) <= 128, "keys")
    listed = [Key(w) for w in listed]
    form(len({k.id for k in listed}) == len(listed), "a key twice")
    names = [(k.origin, k.hash) for k in listed if k.hash]
    form(len(set(names)) == len(names), "two keys of one name")
    return listed


# ---- leaves and disclosures ----------------------------------------------------------------------------------------

DIGEST = rb"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
LEAF = re.compile(
    rb'\{"act":"(?P<act>[a-z]+(?:\.[a-z_]+)+)","at":"(?P<at>[^"\\]{27})"(?:,"det":"(?P<det>sha256:[0-9a-f]{64})")?(?:,"id":"aud_[0-9a-z]+")?'
    rb'(?:,"met":"[A-Z]{1,16}")?(?:,"obj":(?P<obj>' + STRING.replace(b'"(', b'"([a-z][a-z_]*/(?!")', 1) + rb'))?,"out":"(?:applied|denied|failed)"'
    rb',"prev":"(?P<prev>[A-Za-z0-9+/]{43}=)"(?:,"req":(?!"")' + STRING + rb')?(?:,"run":(?!"")(?P<run>' + STRING + rb'))?'
    rb'(?:,"sd":\[(?P<sd>"' + DIGEST + rb'"(?:,"' + DIGEST + rb'")*)\])?,"seq":(?P<seq>[1-9][0-9]{0,15})(?:,"sub":(?!"")' + STRING + rb')?,"v":1\}')
NAMES = (b"sub.name", b"sub.email", b"net.addr", b"net.agent", b"obj.name", b"path", b"text", b"host")
OPEN = re.compile(rb"\[" + STRING + rb",(" + STRING + rb")," + STRING + rb"\]")


class Leaf:
    """A leaf in its canonical form."""

    def __init__(self, raw):
        m = LEAF.fullmatch(raw)
        form(len(raw) <= 16384 and m and is_utf8(raw) and is_stamp(m["at"]) and int(m["seq"]) <= MAX_INT, "a leaf")
        self.act, self.at, self.det, self.prev, self.seq = m["act"], m["at"], m["det"], hash32(m["prev"]), int(m["seq"])
        self.obj, self.run = (unescape(m[k][1:-1]) if m[k] else b"" for k in ("obj", "run"))
        self.sd = m["sd"][1:-1].split(b'","') if m["sd"] else []
        form(all(a < b for a, b in zip(self.sd, self.sd[1:])), "digests")
        self.hash = leaf_hash(raw)

    def belongs(self, run):
        return self.run == run or self.run != b"" and self.obj == b"run/" + run


def match(sd, given):
    """Compares the disclosures of a leaf with its digests and returns how many digests have none."""
    found, names = set(), set()
    for text in given:
        form(0 < len(text) <= 16384, "a disclosure")
        raw = b64(text, url=True)
        m = OPEN.fullmatch(raw)
        form(m and is_utf8(raw), "a disclosure")
        salt, name = unescape(m[1]), unescape(m[2][1:-1])
        form(len(b64(salt, url=True)) == 16 and name in NAMES, "a disclosure")
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=")
        form(digest in sd and digest not in found and (name == b"host" or name not in names), "a disclosure")
        found.add(digest)
        names.add(name)
    return len(sd) - len(found)


# ---- reading -------------------------------------------------------------------------------------------------------

ROUGH, BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S), re.compile(rb'"(?:[^"\\]|\\.)*"|["{}\[\]]', re.S)


class Source:
    """Reads tokens and hashes them."""

    def __init__(self, f):
        self.f, self.buf, self.at, self.sum, self.end = f, b"", 0, hashlib.sha256(), False

    def ensure(self, n):
        """Reads until the buffer has n bytes, or until the end."""
        if len(self.buf) - self.at >= n or self.end:
            return
        self.sum.update(self.buf[:self.at])
        parts, have = [self.buf[self.at:]], len(self.buf) - self.at
        while have < n and not self.end:
            part = self.f.read(max(n - have, 1 << 18))
            parts.append(part)
            have += len(part)
            self.end = not part
        self.buf, self.at = b"".join(parts), 0

    def digest(self):
        self.sum.update(self.buf[:self.at])
        self.buf, self.at = self.buf[self.at:], 0
        return self.sum.copy().digest()

    def has(self, text):
        self.ensure(len(text))
        if not self.buf.startswith(text, self.at):
            form(len(self.buf) - self.at >= len(text), "truncated")
            return False
        self.at += len(text)
        return True

    def want(self, text):
        form(self.has(text), text)

    def text(self, limit=256):
        """Reads an encoded string of at most limit bytes."""
        self.ensure(limit)
        m = ROUGH.match(self.buf, self.at, self.at + limit)
        form(m and STRING_RE.fullmatch(m[0]), "a string")
        self.at = m.end()
        return unescape(m[0][1:-1])

    def integer(self, lead):
        self.want(lead)
        self.ensure(17)
        m = re.compile(rb"[0-9]{0,16}").match(self.buf, self.at)
        self.at = m.end()
        return integer(m[0])

    def value(self, limit):
        """Returns the bytes of an object or a list without decoding it."""
        self.ensure(limit)
        depth = 0
        form(self.buf[self.at:self.at + 1] in (b"{", b"[", b"}", b"]"), "an object")
        for m in BRACKET.finditer(self.buf, self.at, self.at + limit):
            t = m[0]
            form(t != b'"', "a string without end")
            depth += (t in b"{[") - (t in b"}]")
            form(depth <= 8, "too deep")
            if depth == 0 and t[:1] != b'"':
                out, self.at = self.buf[self.at:m.end()], m.end()
                return out
        raise Refused("format_invalid", "an object without end")

    def hash(self):
        return hash32(self.text())

    def list(self, read, most):
        self.want(b"[")
        out = []
        while not self.has(b"]"):
            if out:
                self.want(b",")
            form(len(out) < most, "a list")
            out.append(read())
        return out


class Mark:
    def __init__(self, size, root, id, kind):
        self.size, self.root, self.id, self.kind = size, root, id, kind


NOT_CHECKED = (
    "whether the server recorded what really happened: an entry shows only what was recorded",
    "whether anything happened that was not recorded",
    "whether the server stopped recording after the last entry, unless somebody monitored the log",
    "the entries after the newest head that is stored outside of the server: an attacker with both the database and the signing key can change them",
    "the times of entries: no verified time-stamp token or witness cosignature confirms them, so they are asserted by the server only",
    "gaps between the beats, the entries that the server records at a fixed interval",
    "whether a missing private value was erased or withheld",
    "the data in the file other than the entries: the key that signed it comes from the file itself",
)


class Report:
    """The results of the checks. The first failed check gives the reason; a check that was not reached has failed."""

    def __init__(self, names):
        self.names, self.done, self.waived, self.outside = names, {}, set(), 0
        self.verdict = {"ok": True, "pinned": False, "reason": "", "broke_at": 0, "broke_seq": 0, "count": 0, "size": 0, "anchor_problems": [],
                        "not_checked": list(NOT_CHECKED)}

    def put(self, name, result, reason=""):
        if not self.failed(name):
            self.done[name] = (result, reason)

    def fail(self, name, reason):
        self.put(name, "failed", reason)

    def failed(self, name):
        return self.done.get(name, ("",))[0] == "failed"

    def problem(self, mark, what, name="heads"):
        self.verdict["anchor_problems"].append({"id": mark.id, "kind": mark.kind, "size": mark.size, "problem": what})
        self.fail("from" if mark.kind == "from" else name, "anchor_unsatisfied")

    def unchecked(self, *text):
        self.verdict["not_checked"].extend(text)

    def third_party(self, kind):
        """Counts an anchor whose token or cosignature is not verified here."""
        self.outside += kind in ("rfc3161", "witness")

    def outsiders(self):
        if self.outside:
            self.unchecked("%d time-stamp tokens and witness cosignatures: "
                           "no trusted certificate or key was given for them, or they are not in the file" % self.outside)

    def finish(self, pins):
        v, checks = self.verdict, []
        for name in self.names:
            if name not in self.done and name in self.waived:
                continue
            result, reason = self.done.get(name, ("failed", ""))
            checks.append({"id": name, "result": result})
            if result == "failed":
                v["ok"] = False
                v["reason"] = v["reason"] or reason
        v["pinned"] = bool(pins) and self.done.get("checkpoint", ("",))[0] == "passed"
        out = {k: x for k, x in v.items() if k not in ("reason", "broke_at", "broke_seq") or x}
        return out | {"checks": checks}


def open_checkpoint(r, ring, note):
    try:
        note.open(ring, needed(ring, note.origin, note.size))
        r.put("checkpoint", "passed")
    except Refused as e:
        r.fail("checkpoint", e.reason)


def open_heads(r, ring, note, anchors):
    """Verifies the checkpoint and the anchors, and returns the heads that the log has to be consistent with."""
    marks = []
    if r.failed("trust"):
        return marks
    open_checkpoint(r, ring, note)
    for a in anchors:
        mark = Mark(a["size"], None, a["id"].decode(), a["kind"].decode())
        try:
            signed = Note(a["note"]).open(ring, needed(ring, note.origin, mark.size))
            form(signed.origin == note.origin, "an anchor's origin")
            mark.root = signed.root
            marks.append(mark)
            r.third_party(mark.kind)
        except Refused:
            r.problem(mark, "signature_invalid")
    return marks


def trust(r, listed, pins):
    try:
        ring = trusted(listed, pins)
        r.put("trust", "passed" if pins else "warned")
        return ring
    except Refused as e:
        r.fail("trust", e.reason)
        return []


STATEMENT = b"application/vnd.in-toto+json"


def parse_envelope(raw):
    """Returns payload, key id and signature of a DSSE envelope with one signature."""
    e = shape(canonical(raw), payload=bytes, payloadType=bytes, signatures=list)
    payload = b64(e["payload"])
    form(e["payloadType"] == STATEMENT and 0 < len(payload) <= 24 << 20 and len(e["signatures"]) == 1, "an envelope")
    s = shape(e["signatures"][0], keyid=bytes, sig=bytes)
    sig = b64(s["sig"])
    form(re.fullmatch(rb"sha256:[0-9a-f]{64}", s["keyid"]) and 0 < len(sig) <= 8192, "an envelope")
    return payload, s["keyid"], sig


def verify_envelope(payload, keyid, sig, listed):
    """Returns the listed statement key that signed."""
    by = [k for k in listed if k.use == b"statement" and k.id == keyid]
    if not by:
        raise Refused("key_untrusted")
    if not ed25519(by[0].public, sig, b"DSSEv1 %d %s %d %s" % (len(STATEMENT), STATEMENT, len(payload), payload)):
        raise Refused("signature_invalid")
    return by[0]


def parse_statement(payload, kind):
    """Returns predicate and subjects of an in-toto statement."""
    s = shape(canonical(payload), _type=bytes, predicate=Members, predicateType=bytes, subject=list)
    kind = b"https://github.com/writ-automation/writ/audit/%s/v1" % kind
    form(s["_type"] == b"https://in-toto.io/Statement/v1" and s["predicateType"] == kind and 1 <= len(s["subject"]) <= 64, "a statement")
    subjects = {}
    for sub in s["subject"]:
        shape(sub, digest=Members, name=bytes)
        digest = shape(sub["digest"], sha256=bytes)["sha256"]
        form(re.fullmatch(rb"[0-9a-f]{64}", digest) and 0 < len(sub["name"]) <= 256 and sub["name"] not in subjects, "a subject")
        subjects[sub["name"]] = bytes.fromhex(digest.decode())
    return s["predicate"], subjects


# ---- bundle --------------------------------------------------------------------------------------------------------

KINDS = (b"checkpoint", b"head_file", b"worker", b"receipt", b"rfc3161", b"witness", b"publish")


def check_anchor(a):
    form(re.fullmatch(rb"[a-z0-9_]{1,64}", a["id"]) and a["kind"] in KINDS and Note(a["note"]).size == a["size"], "an anchor")


class Bundle:
    def __init__(self, source, pins, start, latest):
        self.s, self.pins, self.start, self.latest = source, pins, start, latest
        self.r = Report(BUNDLE_CHECKS)
        self.broken, self.count, self.behind, self.at = False, 0, None, b""
        self.edge, self.next, self.warned, self.missing, self.proven, self.skipped = None, 0, False, 0, False, 0
        self.withheld = False

    def run(self):
        try:
            self.s.want(b'{"v":1,"origin":')
            self.read_head()
            self.open_head()
            while not self.s.has(b"]"):
                if self.count:
                    self.s.want(b",")
                self.entry(*self.read_entry())
            covered = self.s.digest()
            self.s.want(b',"manifest":')
            envelope = self.s.value(64 << 10)
            self.s.want(b"}\n")
            self.s.ensure(1)
            form(self.s.at == len(self.s.buf), "trailing data")
            self.r.put("format", "passed")
            self.conclude()
            self.manifest(envelope, covered)
        except Refused as e:
            self.r.fail("format", e.reason)
        self.r.verdict["count"] = self.count
        return self.r.finish(self.pins)

    def read_head(self):
        s = self.s
        self.origin = s.text()
        self.first, self.last, self.size = s.integer(b',"from":'), s.integer(b',"to":'), s.integer(b',"size":')
        s.want(b',"generated_at":')
        form(is_stamp(s.text()), "a time")
        s.want(b',"checkpoint":')
        self.checkpoint = Note(s.text(2 * 65536 + 2))
        s.want(b',"keys":')
        self.keys = parse_keys(canonical(s.value(1 << 20)))
        s.want(b',"anchors":')
        notes = 0

        def anchor():
            nonlocal notes
            a = {}
            for lead, name in ((b'{"id":', "id"), (b',"kind":', "kind")):
                s.want(lead)
                a[name] = s.text()
            a["size"] = s.integer(b',"size":')
            s.want(b',"note":')
            a["note"] = s.text(2 * 65536 + 2)
            s.want(b"}")
            notes += len(a["note"])
            form(notes <= 8 << 20, "anchors")
            check_anchor(a)
            return a

        self.anchors = s.list(anchor, 4096)
        form(all(a["size"] <= b["size"] for a, b in zip(self.anchors, self.anchors[1:])), "the order of anchors")
        check_origin(self.origin)
        form(1 <= self.first <= self.last <= self.size, "the window")
        self.whole = self.first == 1 and self.last == self.size
        self.prev = bytes(32)
        if self.first > 1:
            s.want(b',"prev":')
            self.prev = s.hash()
        if not self.whole:
            s.want(b',"inclusion":{"first":')
            self.first_proof = s.list(s.hash, 128)
            s.want(b',"last":')
            self.last_proof = s.list(s.hash, 128)
            s.want(b"}")
        self.older = None
        if s.has(b',"consistency":'):
            size = s.integer(b'{"from":')
            s.want(b',"root":')
            root = s.hash()
            s.want(b',"proof":')
            self.older = (size, root, s.list(s.hash, 128))
            form(size <= self.size, "the older tree")
            s.want(b"}")
        s.want(b',"entries":[')

    def read_entry(self):
        s = self.s
        if s.has(b'{"hash":'):
            digest = s.hash()
            s.want(b"}")
            return None, digest
        s.want(b'{"leaf":')
        leaf, given = s.text(2 * 16384 + 2), []
        if s.has(b',"disclosures":['):
            while not given or s.has(b","):
                given.append(s.text(16384 + 2))
                form(len(given) <= 356 and sum(map(len, given)) <= 1 << 20, "disclosures")
            s.want(b"]")
        s.want(b"}")
        return leaf, given

    def open_head(self):
        r, note = self.r, self.checkpoint
        form(note.origin == self.origin and note.size >= self.size, "the checkpoint")
        r.verdict["size"] = note.size
        self.marks = open_heads(r, trust(r, self.keys, self.pins), note, self.anchors)
        self.marks.append(Mark(note.size, note.root, "checkpoint", "checkpoint"))
        if self.start:
            self.marks.append(Mark(self.start[0], self.start[1], "from", "from"))
        self.marks.sort(key=lambda m: m.size)
        if self.older is None:
            r.waived.add("consistency")
        else:
            try:
                check_consistency(self.older[0], note.size, self.older[1], note.root, self.older[2])
                r.put("consistency", "passed")
            except Refused as e:
                r.fail("consistency", e.reason)
        if self.whole:
            r.waived.add("inclusion")
        if not self.start:
            r.waived.add("from")
        if self.first == 1:
            self.edge = Edge()
            self.compare()

    def entry(self, raw, given):
        self.count += 1
        if self.broken:
            return
        if raw is None:
            return self.withhold(given)
        try:
            leaf = Leaf(raw)
        except Refused:
            return self.snap(0, 0)
        place = self.first + self.count - 1
        if leaf.seq != place or leaf.seq > self.last or leaf.prev != (self.prev if self.count == 1 else self.behind):
            return self.snap(self.count, leaf.seq)
        self.behind = leaf.hash
        self.grow(leaf.seq, leaf.hash)
        self.warned |= leaf.at < self.at or leaf.at > self.latest
        self.at = leaf.at
        try:
            self.missing += match(leaf.sd, given)
        except Refused:
            self.r.fail("disclosures", "proof_invalid")

    def withhold(self, digest):
        """Takes the hash of an entry that the file omits."""
        seq = self.first + self.count - 1
        if seq > self.last:
            return self.snap(self.count, seq)
        self.withheld, self.behind = True, digest
        self.grow(seq, digest)

    def snap(self, at, seq):
        self.broken = True
        self.r.verdict["broke_at"], self.r.verdict["broke_seq"] = at, seq
        self.r.fail("entries", "chain_break")

    def grow(self, seq, digest):
        root = self.checkpoint.root
        if not self.whole and seq == self.first:
            try:
                left = check_inclusion(digest, seq - 1, self.size, self.first_proof, root)
                proof(seq % 2 or self.first_proof[0] == self.prev, "the hash before the first entry does not match its inclusion proof")
                if self.edge is None:
                    self.edge = Edge(seq - 1, left)
                    self.compare()
            except Refused as e:
                self.r.fail("inclusion", e.reason)
        if not self.whole and seq == self.last:
            try:
                left = check_inclusion(digest, seq - 1, self.size, self.last_proof, root)
                proof(self.edge is None or self.edge.parts == left, "the inclusion proof of the last entry does not match the entries before it")
            except Refused as e:
                self.r.fail("inclusion", e.reason)
            self.proven = True
        if self.edge is not None:
            self.edge.append(digest)
            self.compare()

    def compare(self):
        """Compares the current tree with the heads of its size."""
        size = self.edge.size
        while self.next < len(self.marks) and self.marks[self.next].size <= size:
            m = self.marks[self.next]
            self.next += 1
            if m.size < size:
                self.elsewhere(m)
            else:
                self.meet(m, self.edge.root())

    def meet(self, m, root):
        if m.root != root:
            self.r.problem(m, "root_mismatch")
        elif m.kind == "from":
            self.r.put("from", "passed")

    def elsewhere(self, m):
        """Compares a head outside of the window with the heads that are known without entries."""
        if m.size == self.checkpoint.size:
            self.meet(m, self.checkpoint.root)
        elif self.older and self.older[0] == m.size and not self.r.failed("consistency"):
            self.meet(m, self.older[1])
        elif m.size == 0:
            self.meet(m, EMPTY)
        elif m.kind == "from":
            self.r.fail("from", "proof_invalid")
        else:
            self.skipped += 1

    def conclude(self):
        r = self.r
        if self.broken:
            return
        r.put("entries", "passed")
        if self.withheld:
            r.put("entries", "warned")
            r.unchecked("the contents of the entries for which the file has only the hash")
        if self.edge is not None or not self.count:
            last = self.first + self.count - 1
            short = last < self.last or self.size < self.checkpoint.size
            for m in self.marks[self.next:]:
                if m.size > self.checkpoint.size or short and m.size > last:
                    r.problem(m, "tail_missing")
                else:
                    self.elsewhere(m)
            r.put("heads", "passed")
            r.outsiders()
            if self.skipped:
                r.unchecked("%d anchors outside of the window" % self.skipped)
            if not self.whole:
                r.unchecked("the contents of the entries outside of the window")
        if self.proven:
            r.put("inclusion", "passed")
        r.put("times", "warned" if self.warned else "passed")
        r.put("disclosures", "warned" if self.missing else "passed")

    def manifest(self, envelope, covered):
        try:
            signed = parse_envelope(envelope)
            key = verify_envelope(*signed, self.keys)
            predicate, subjects = parse_statement(signed[0], b"bundle")
            want = {"from": self.first, "origin": self.origin, "size": self.size, "to": self.last, "v": 1}
            proof(predicate == want and type(predicate["v"]) is int and subjects == {b"bundle": covered}, "the manifest describes another file")
            key.admit(self.size)
            self.r.put("manifest", "passed")
        except Refused as e:
            self.r.fail("manifest", e.reason)


# ---- receipt -------------------------------------------------------------------------------------------------------

def tlv(der, tag):
    """Returns the content of the DER value with this tag (None for any tag), and the bytes after it."""
    form(len(der) > 1 and (tag is None or der[0] == tag) and der[0] & 31 != 31, "DER")
    size, at = der[1], 2
    if size >= 128:
        at = 2 + size - 128
        size = int.from_bytes(der[2:at], "big")
        form(2 < at <= 6 and len(der) >= at and size >= 128 and der[2], "DER")
    form(len(der) >= at + size, "DER")
    return der[at:at + size], der[at + size:]


def whole(der, tag):
    content, rest = tlv(der, tag)
    form(not rest, "DER")
    return content


def imprint(der):
    """Returns the SHA-256 in a granted RFC 3161 response. Its signature is not verified here."""
    status, token = tlv(whole(der, 0x30), 0x30)
    form(tlv(status, 2)[0] in (b"\0", b"\1"), "the status of a token")
    kind, content = tlv(tlv(token, 0x30)[0], 6)
    form(kind == bytes.fromhex("2a864886f70d010702"), "signed data")
    rest = tlv(whole(tlv(content, 0xa0)[0], 0x30), 2)[1]
    kind, content = tlv(tlv(tlv(rest, None)[1], 0x30)[0], 6)
    form(kind == bytes.fromhex("2a864886f70d0109100104"), "a token")
    info = whole(whole(tlv(content, 0xa0)[0], 4), 0x30)
    body, rest = tlv(tlv(tlv(info, 2)[1], 6)[1], 0x30)
    method, digest = tlv(body, 0x30)
    form(tlv(method, 6)[0] == bytes.fromhex("608648016503040201"), "a token over a SHA-256")
    when = tlv(tlv(rest, None)[1], 0x18)[0]
    form(re.fullmatch(rb"\d{14}(\.\d*[1-9])?(Z|[+-]\d{4})", when), "a time")
    return tlv(digest, 4)[0]


RECEIPT_CHECKS = ("format", "trust", "signature", "checkpoint", "entries", "inclusion", "consistency", "from", "anchors", "subject", "completeness",
                  "disclosures", "times")


def texts(value, most):
    form(type(value) is list and len(value) <= most and all(type(t) is bytes for t in value), "a list of strings")
    return value


class Receipt:
    def __init__(self, data, pins, start, latest):
        self.data, self.pins, self.start, self.latest, self.r = data, pins, start, latest, Report(RECEIPT_CHECKS)

    def run(self):
        r = self.r
        try:
            self.parse()
        except Refused as e:
            r.fail("format", e.reason)
            return r.finish(self.pins)
        r.put("format", "passed")
        r.verdict["count"], r.verdict["size"] = len(self.entries), self.note.size
        ring = trust(r, self.keys, self.pins)
        try:
            verify_envelope(*self.signed, self.keys).admit(self.note.size)
            r.put("signature", "passed")
        except Refused as e:
            r.fail("signature", e.reason)
        if not r.failed("trust"):
            open_checkpoint(r, ring, self.note)
        if self.read_entries():
            self.prove()
            self.subject()
            self.rest()
        self.consistency()
        self.goes_on()
        if not r.failed("trust"):
            for a in self.anchors:
                self.anchor(a, ring)
            r.put("anchors", "passed")
            r.outsiders()
        return r.finish(self.pins)

    def parse(self):
        self.signed = parse_envelope(self.data)
        payload = self.signed[0]
        p, self.about = parse_statement(payload, b"receipt")
        form(len(self.about) == 1, "one subject")
        shape(p, anchors=list, checkpoint=bytes, consistency=[Members], entries=list, keys=list, mode=bytes, origin=bytes, run=Members, scope=bytes, v=int)
        keys, run = (payload[slice(*p.span[name])] for name in ("keys", "run"))
        form(len(keys) <= 1 << 20 and len(run) <= 1 << 20 and p["v"] == 1, "a receipt")
        self.keys = parse_keys(p["keys"])
        check_origin(p["origin"])
        form(p["mode"] in (b"contiguous", b"sparse") and 1 <= len(p["scope"]) <= 1024, "a receipt")
        self.sparse = p["mode"] == b"sparse"
        self.read_run(p["run"], run)
        self.older = None
        if "consistency" in p:
            c = shape(p["consistency"], **{"from": int, "proof": list})
            form(c["from"] >= 0, "a size")
            self.older = (c["from"], [hash32(h) for h in texts(c["proof"], 128)])
        self.read_anchors(p["anchors"])
        self.read_wire(p["entries"])
        self.note = Note(p["checkpoint"])
        form(self.note.origin == p["origin"], "the checkpoint's origin")

    def read_run(self, run, raw):
        self.digest, self.own = hashlib.sha256(raw).digest(), None
        word = (type(run.get("id")) is bytes and re.fullmatch(rb"[a-z0-9_]{1,64}", run["id"])
                and ("status" not in run or type(run["status"]) is bytes and re.fullmatch(rb"[a-z_]{1,64}", run["status"])))
        form(word and type(run.get("v")) is int and run["v"] == 1, "the document of the run")
        self.id, self.bare = run["id"], set(run) <= {"id", "status", "v"}
        if "entries" in run:
            own = shape(run["entries"], count=int, digest=bytes)
            form(own["count"] >= 0 and re.fullmatch(rb"sha256:[0-9a-f]{64}", own["digest"]), "the count of entries")
            self.own = (own["count"], bytes.fromhex(own["digest"][7:].decode()))

    def read_anchors(self, anchors):
        total, self.anchors = 0, anchors
        form(len(anchors) <= 256, "anchors")
        for a in anchors:
            shape(a, id=bytes, kind=bytes, note=bytes, proof=list, size=int, token=[bytes])
            check_anchor(a)
            a["proof"] = [hash32(h) for h in texts(a["proof"], 128)]
            form(("token" in a) == (a["kind"] == b"rfc3161") and a.get("token") != b"", "a token")
            a["token"] = b64(a.get("token", b""))
            total += len(a["note"]) + len(a["token"])
        form(total <= 8 << 20 and all(a["size"] <= b["size"] for a, b in zip(anchors, anchors[1:])), "anchors")

    def read_wire(self, entries):
        form(1 <= len(entries) <= 10000, "entries")
        self.entries = entries
        for i, e in enumerate(entries):
            shape(e, disclosures=[list], index=int, leaf=bytes, proof=[list])
            form(0 <= e["index"] < MAX_INT and len(e["leaf"]) <= 16384, "an entry")
            given = texts(e.get("disclosures", []), 356)
            form(("disclosures" in e) == bool(given) and all(len(t) <= 16384 for t in given) and sum(map(len, given)) <= 1 << 20, "disclosures")
            form(("proof" in e) == (self.sparse or i in (0, len(entries) - 1)), "a proof")
            if "proof" in e:
                e["proof"] = [hash32(h) for h in texts(e["proof"], 128)]

    def read_entries(self):
        self.leaves = []
        for i, e in enumerate(self.entries):
            try:
                leaf = Leaf(e["leaf"])
            except Refused:
                return self.snap(0, 0)
            ok = leaf.seq == e["index"] + 1
            if i:
                behind = self.leaves[-1]
                ok &= leaf.seq > behind.seq if self.sparse else leaf.seq == behind.seq + 1
                ok &= leaf.seq != behind.seq + 1 or leaf.prev == behind.hash
            if not ok:
                return self.snap(i + 1, leaf.seq)
            self.leaves.append(leaf)
            if (self.sparse or i in (0, len(self.entries) - 1)) and not leaf.belongs(self.id):
                self.r.fail("entries", "proof_invalid")
        self.r.put("entries", "passed")
        return True

    def snap(self, at, seq):
        self.r.verdict["broke_at"], self.r.verdict["broke_seq"] = at, seq
        self.r.fail("entries", "chain_break")
        return False

    def prove(self):
        try:
            for e, leaf in zip(self.entries, self.leaves):
                if "proof" in e:
                    check_inclusion(leaf.hash, e["index"], self.note.size, e["proof"], self.note.root)
            self.r.put("inclusion", "passed")
        except Refused as e:
            self.r.fail("inclusion", e.reason)

    def consistency(self):
        r = self.r
        if self.older is None:
            r.waived.add("consistency")
            return
        size, path = self.older
        root, known = EMPTY, size == 0
        given = self.start and self.start[0] == size
        if given:
            root, known = self.start[1], True
        elif size == self.note.size:
            root, known = self.note.root, True
        try:
            check_consistency(size, self.note.size, root, self.note.root, path)
            r.put("consistency", "passed")
        except Refused as e:
            if str(e) == "root" and (given or not known):
                r.put("consistency", "warned")
            else:
                r.fail("consistency", e.reason)

    def goes_on(self):
        r = self.r
        if not self.start:
            r.waived.add("from")
            return
        size, root = self.start
        mark = Mark(size, root, "from", "from")
        if size > self.note.size:
            r.problem(mark, "tail_missing")
        elif size in (0, self.note.size):
            if root != (self.note.root if size else EMPTY) or size == self.note.size and root != self.note.root:
                r.problem(mark, "root_mismatch")
        elif not self.older or self.older[0] != size or r.failed("consistency"):
            r.fail("from", "proof_invalid")
        elif r.done["consistency"][0] != "passed":
            r.problem(mark, "root_mismatch")
        r.put("from", "passed")

    def anchor(self, a, ring):
        mark = Mark(a["size"], None, a["id"].decode(), a["kind"].decode())
        try:
            note = Note(a["note"]).open(ring, needed(ring, self.note.origin, mark.size))
            form(note.origin == self.note.origin and (not a["token"] or imprint(a["token"]) == hashlib.sha256(a["note"]).digest()), "an anchor")
        except Refused:
            return self.r.problem(mark, "signature_invalid", "anchors")
        self.r.third_party(mark.kind)
        if mark.size > self.note.size:
            return self.r.problem(mark, "tail_missing", "anchors")
        try:
            check_consistency(mark.size, self.note.size, note.root, self.note.root, a["proof"])
        except Refused as e:
            if str(e) == "length":
                return self.r.fail("anchors", "proof_invalid")
            return self.r.problem(mark, "root_mismatch", "anchors")

    def subject(self):
        r, ends = self.r, [i for i, leaf in enumerate(self.leaves) if leaf.act == b"run.final" and leaf.obj == b"run/" + self.id]
        det = self.leaves[ends[-1]].det if ends else None
        if self.about != {self.id: self.digest} or not ends and not self.bare or ends and det != b"sha256:" + self.digest.hex().encode():
            r.fail("subject", "proof_invalid")
        r.put("subject", "passed" if ends else "warned")
        if not ends or self.own is None:
            r.put("completeness", "warned")
            return
        own = [leaf.hash for leaf in self.leaves[:ends[-1]] if leaf.belongs(self.id)]
        if self.own != (len(own), hashlib.sha256(b"".join(own)).digest()):
            r.fail("completeness", "proof_invalid")
        r.put("completeness", "passed")

    def rest(self):
        missing, at, warned = 0, b"", False
        for e, leaf in zip(self.entries, self.leaves):
            try:
                missing += match(leaf.sd, e.get("disclosures", []))
            except Refused:
                self.r.fail("disclosures", "proof_invalid")
            warned |= leaf.at < at or leaf.at > self.latest
            at = leaf.at
        self.r.put("disclosures", "warned" if missing else "passed")
        self.r.put("times", "warned" if warned else "passed")


# ---- command -------------------------------------------------------------------------------------------------------

def check(f, keys=(), start="", now=None):
    """Returns the verdict on an open file. Raises Unknown if the file or an option cannot be read."""
    pins = [pinned_key(k) for k in keys]
    if start:
        size, _, root = start.partition(":")
        try:
            start = (integer(size.encode()), hash32(root.encode()))
        except Refused:
            raise Unknown("--from takes SIZE:ROOT") from None
    now = datetime.datetime.strptime(now, "%Y-%m-%dT%H:%M:%S.%fZ") if now else datetime.datetime.now(datetime.timezone.utc)
    latest = (now + datetime.timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()
    s = Source(f)
    s.ensure(16)
    if s.buf.startswith(b'{"v":1,"origin":'):
        return Bundle(s, pins, start, latest).run()
    if not s.buf.startswith(b'{"payload":"'):
        raise Unknown("neither a bundle nor a receipt of version 1")
    s.ensure((64 << 20) + 1)
    if len(s.buf) > 64 << 20:
        raise Unknown("larger than a receipt can be")
    return Receipt(s.buf, pins, start, latest).run()


def main(args=None):
    p = argparse.ArgumentParser(description="Verifies a file of Writ's audit trail, offline.")
    p.add_argument("file")
    p.add_argument("--key", action="append", default=[], metavar="VKEY")
    p.add_argument("--from", dest="start", default="", metavar="SIZE:ROOT")
    a = p.parse_args(args)
    try:
        with (sys.stdin.buffer if a.file == "-" else open(a.file, "rb")) as f:
            v = check(f, a.key, a.start)
    except (Unknown, OSError) as e:
        print("verify.py: %s" % ascii(str(e)), file=sys.stderr)
        return 2
    print(json.dumps(v, indent=2))
    return 1 if not v["ok"] else 0 if v["pinned"] else 3


if __name__ == "__main__":
    sys.exit(main())
