"""Malformed and unusual HTTP/3, written byte by byte: RFC 9114 and RFC 9204.

A response is `[bytes, …]`, which are sent on the stream of the request and end it. A fault of a connection is bytes on
its control stream, or a stream of its own.
"""

from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3Connection, StreamType, encode_frame, encode_settings

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID = 0, 1, 3, 4, 5, 7, 0xD
HTTP2_PING, GREASE = 0x6, 0x21 + 0x1F * 7


def prefixed(value, bits, first):
    """An integer with a prefix of this many bits (RFC 9204 §4.1.1)."""
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    result, value = bytearray([first | limit]), value - limit
    while value >= 128:
        result.append(value % 128 + 128)
        value //= 128
    return bytes(result + bytes([value]))


def section(*fields, prefix=b"\0\0"):
    """A field section of literals, which needs no table (RFC 9204 §4.5.6)."""
    lines = (prefixed(len(name), 3, 0x20) + name + prefixed(len(value), 7, 0) + value for name, value in fields)
    return prefix + b"".join(lines)


def headers(*fields, status=b"200"):
    return encode_frame(HEADERS, section((b":status", status), *fields))


def data(content=b"wrong"):
    return encode_frame(DATA, content)


# An indexed field line: 0x80 is of the dynamic table, relative to the base; 0xFF 0x… is of the static table.
STATUS = section((b":status", b"200"))
responses = {
    # Ignored by the recipient (RFC 9114 §9).
    "grease-frames": lambda: [encode_frame(GREASE, b"x"), headers((b"a", b"1")), encode_frame(GREASE, b""),
                              data(b"right"), encode_frame(GREASE, b"y" * 5000)],
    "empty-data": lambda: [headers((b"content-length", b"5")), data(b""), data(b"right"), data(b"")],
    "single-bytes": lambda: [data_or_head for whole in (headers((b"content-length", b"5")), data(b"right"))
                             for data_or_head in (whole[index:index + 1] for index in range(len(whole)))],
    # Frames in a wrong place or form (RFC 9114 §4.1, §7).
    "data-first": lambda: [data(), headers()],
    "data-after-trailers": lambda: [headers(), data(), encode_frame(HEADERS, section((b"t", b"1"))), data()],
    "headers-after-trailers": lambda: [headers(), data()] + 2 * [encode_frame(HEADERS, section((b"t", b"1")))],
    "http2-frame": lambda: [encode_frame(HTTP2_PING, b"12345678"), headers(), data()],
    "settings": lambda: [encode_frame(SETTINGS, b""), headers(), data()],
    "goaway": lambda: [encode_frame(GOAWAY, b"\0"), headers(), data()],
    "push-promise": lambda: [encode_frame(PUSH_PROMISE, b"\0" + STATUS), headers(), data()],
    "cut-head": lambda: [headers((b"a", b"1"))[:-1]],
    "cut-frame-type": lambda: [headers(), data(), b"\x40"],
    "cut-data": lambda: [headers(), data()[:-1]],
    "nothing": lambda: [],
    "interim-alone": lambda: [headers(status=b"103")],
    # Field sections that cannot be decoded (RFC 9204 §2.2, §4.5).
    "dynamic-entry": lambda: [encode_frame(HEADERS, section(prefix=b"\0\0") + b"\x80"), data()],
    "future-entry": lambda: [encode_frame(HEADERS, section(prefix=b"\x02\0") + b"\x80"), data()],
    "static-entry": lambda: [encode_frame(HEADERS, STATUS + b"\xFF\x40"), data()],
    "cut-literal": lambda: [encode_frame(HEADERS, STATUS + b"\x27\xFF"), data()],
    "huffman": lambda: [encode_frame(HEADERS, STATUS + b"\x21a" + b"\x84\xFF\xFF\xFF\xFF"), data()],
    # Malformed messages (RFC 9114 §4.1.2, §4.2, §4.3).
    "no-status": lambda: [encode_frame(HEADERS, section((b"a", b"1"))), data()],
    "no-fields": lambda: [encode_frame(HEADERS, section()), data()],
    "two-statuses": lambda: [headers((b":status", b"201")), data()],
    "late-status": lambda: [encode_frame(HEADERS, section((b"a", b"1"), (b":status", b"200"))), data()],
    "request-pseudo": lambda: [headers((b":path", b"/")), data()],
    "unknown-pseudo": lambda: [headers((b":x", b"/")), data()],
    "trailer-pseudo": lambda: [headers(), data(), encode_frame(HEADERS, STATUS)],
    "status-text": lambda: [headers(status=b"abc"), data()],
    "status-short": lambda: [headers(status=b"20"), data()],
    "status-long": lambda: [headers(status=b"2000"), data()],
    "status-sign": lambda: [headers(status=b"+20"), data()],
    "status-lines": lambda: [headers(status=b"200\r\nx: 1"), data()],
    "upper-case": lambda: [headers((b"X-Upper", b"1")), data()],
    "connection": lambda: [headers((b"connection", b"close")), data()],
    "transfer-encoding": lambda: [headers((b"transfer-encoding", b"chunked")), data(b"5\r\nwrong\r\n0\r\n\r\n")],
    "length-short": lambda: [headers((b"content-length", b"10")), data()],
    "length-long": lambda: [headers((b"content-length", b"3")), data()],
    "length-text": lambda: [headers((b"content-length", b"5x")), data()],
    "length-twice": lambda: [headers((b"content-length", b"5"), (b"content-length", b"6")), data()],
    "length-negative": lambda: [headers((b"content-length", b"-5")), data()],
    "huge-head": lambda: [headers(*((b"a-%d" % index, b"x" * 8000) for index in range(80))), data()],
    # Fields that a parser of lines would take for several.
    "name-lines": lambda: [headers((b"a: 1\r\nset-cookie", b"1")), data(b"right")],
    "name-colon": lambda: [headers((b"set-cookie: a", b"1")), data(b"right")],
    "name-space": lambda: [headers((b"set-cookie ", b"1")), data(b"right")],
    "name-empty": lambda: [headers((b"", b"1")), data(b"right")],
    "value-lines": lambda: [headers((b"a", b"1\r\nset-cookie: b=1")), data(b"right")],
    "value-head": lambda: [headers((b"a", b"1\r\n\r\nwrong")), data(b"right")],
    "value-feed": lambda: [headers((b"a", b"1\nset-cookie: b=1")), data(b"right")],
    "value-nul": lambda: [headers((b"a", b"1\0set-cookie")), data(b"right")],
}


class FaultyConnection(H3Connection):
    """A connection whose control stream begins with other bytes than a correct SETTINGS frame."""

    def __init__(self, quic, fault):
        self.fault = fault
        super().__init__(quic)

    def _init_connection(self):
        self._local_control_stream_id = self._create_uni_stream(StreamType.CONTROL)
        self._sent_settings = self._get_local_settings()
        self._quic.send_stream_data(
            self._local_control_stream_id, beginnings[self.fault](encode_settings(self._sent_settings)))
        self._local_encoder_stream_id = self._create_uni_stream(StreamType.QPACK_ENCODER)
        self._local_decoder_stream_id = self._create_uni_stream(StreamType.QPACK_DECODER)


def setting(identifier, value):
    return encode_uint_var(identifier) + encode_uint_var(value)


# The beginning of the control stream, from the payload of a correct SETTINGS frame (RFC 9114 §6.2.1, §7.2.4).
beginnings = {
    "grease": lambda valid: encode_frame(SETTINGS, valid + setting(GREASE, 7)) + encode_frame(GREASE, b"x"),
    "duplicate": lambda valid: encode_frame(SETTINGS, valid + setting(0x6, 1 << 20) + setting(0x6, 1 << 20)),
    "http2": lambda valid: encode_frame(SETTINGS, valid + setting(0x4, 65535)),
    "value": lambda valid: encode_frame(SETTINGS, setting(0x8, 2)),
    "cut": lambda valid: encode_frame(SETTINGS, valid + b"\x08"),
    "missing": lambda valid: encode_frame(GOAWAY, b"\0"),
    "data": lambda valid: encode_frame(DATA, b"x"),
}

# Bytes on the control stream after SETTINGS.
controls = {
    "grease-frame": encode_frame(GREASE, b"x" * 3000),
    "settings-twice": encode_frame(SETTINGS, b""),
    "control-data": encode_frame(DATA, b"x"),
    "control-headers": encode_frame(HEADERS, STATUS),
    "control-http2": encode_frame(HTTP2_PING, b"12345678"),
    "server-max-push": encode_frame(MAX_PUSH_ID, b"\0"),
    "goaway-push": encode_frame(GOAWAY, b"\x01"),
    "cancel-push": encode_frame(CANCEL_PUSH, b"\x05"),
}

# Unidirectional streams of the server: the bytes of each, and whether it ends (RFC 9114 §6.2, RFC 9204 §4.2).
streams = {
    "grease-stream": (encode_uint_var(GREASE) + b"x" * 3000, True),
    "open-grease-stream": (encode_uint_var(GREASE), False),
    "empty-stream": (b"", True),
    "second-control": (encode_uint_var(StreamType.CONTROL), False),
    "push-stream": (encode_uint_var(StreamType.PUSH) + b"\0" + headers(), True),
    "second-encoder": (encode_uint_var(StreamType.QPACK_ENCODER), False),
}

# Bytes on the streams of QPACK, by its type (RFC 9204 §4.3, §4.4).
tables = {
    # The capacity is above the limit that the client has set.
    "encoder-capacity": ("encoder", prefixed(1 << 30, 5, 0x20)),
    "encoder-entry": ("encoder", b"\x9F\x10\x01a"),
    "encoder-duplicate": ("encoder", b"\x1F\x10"),
    # Entries that the client has never sent cannot be acknowledged.
    "decoder-increment": ("decoder", b"\x3F\x10"),
    "decoder-section": ("decoder", b"\xFF\x10"),
}


def disturb(connection, quic, fault):
    """Puts a fault on the connection, outside of the stream of a request. False if there is none of this name."""
    control, encoder, decoder = (
        connection._local_control_stream_id, connection._local_encoder_stream_id, connection._local_decoder_stream_id)
    if fault in controls:
        quic.send_stream_data(control, controls[fault])
    elif fault in streams:
        content, ends = streams[fault]
        quic.send_stream_data(quic.get_next_available_stream_id(is_unidirectional=True), content, ends)
    elif fault in tables:
        name, content = tables[fault]
        quic.send_stream_data(encoder if name == "encoder" else decoder, content)
    elif fault == "closed-control":
        quic.send_stream_data(control, b"", True)
    elif fault == "reset-control":
        quic.reset_stream(control, 0x100)
    elif fault == "closed-encoder":
        quic.send_stream_data(encoder, b"", True)
    else:
        return False
    return True
