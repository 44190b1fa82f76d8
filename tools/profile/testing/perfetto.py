"""Perfetto's protobuf, read by a table of its fields: what a schema says, and nothing of ours.

  packets = read_trace(data)   # a list of dictionaries by field name; stops at the last whole one

The numbers are those of Perfetto's trace_packet.proto, track_event.proto, track_descriptor.proto,
debug_annotation.proto and interned_data.proto. A field that is not in the table is an error.
"""

import struct

ENTRY = {1: ("iid", "uint"), 2: ("name", "text")}
SCHEMA = {
    "packet": {8: ("timestamp", "uint"), 10: ("sequence", "uint"), 11: ("event", "event"),
               12: ("interned", "interned"), 13: ("flags", "uint"), 60: ("track", "track"),
               87: ("first", "uint")},
    "track": {1: ("uuid", "uint"), 2: ("name", "text"), 3: ("process", "process"),
              4: ("thread", "thread"), 5: ("parent", "uint"), 8: ("counter", "counter")},
    "process": {1: ("pid", "uint"), 6: ("name", "text")},
    "thread": {1: ("pid", "uint"), 2: ("tid", "uint"), 5: ("name", "text")},
    "counter": {},
    "event": {3: ("category", "uint"), 4: ("facts[]", "fact"), 9: ("type", "uint"),
              10: ("name_iid", "uint"), 11: ("track", "uint"), 23: ("name", "text"),
              44: ("value", "double"), 47: ("flow", "fixed"), 48: ("last_of_flow", "fixed"),
              52: ("correlation", "uint")},
    "fact": {1: ("name_iid", "uint"), 3: ("uint", "uint"), 4: ("int", "uint"), 9: ("json", "text"),
             17: ("text_iid", "uint")},
    "interned": {1: ("categories[]", "entry"), 2: ("names[]", "entry"), 3: ("facts[]", "entry"),
                 29: ("texts[]", "entry")},
    "entry": ENTRY,
}
WIRE = {"uint": 0, "fixed": 1, "double": 1}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def read_message(data, kind):
    message = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        name, of = SCHEMA[kind][tag >> 3]
        if tag & 7 != WIRE.get(of, 2):
            raise ValueError(f"{kind}.{name} has wire type {tag & 7}")
        if of == "uint":
            value, at = varint(data, at)
        elif of in ("fixed", "double"):
            value = struct.unpack_from("<Q" if of == "fixed" else "<d", data, at)[0]
            at += 8
        else:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError(f"{kind}.{name} is longer than its message")
            value = data[at:at + size]
            at += size
            value = value.decode("utf-8") if of == "text" else read_message(value, of)
        if name.endswith("[]"):
            message.setdefault(name[:-2], []).append(value)
        else:
            message[name] = value
    return message


def read_trace(data):
    packets = []
    at = 0
    while at < len(data):
        if data[at] != 0x0A:
            raise ValueError(f"no packet at byte {at}")
        try:
            size, begin = varint(data, at + 1)
        except IndexError:
            break
        if begin + size > len(data):
            break
        packets.append(read_message(data[begin:begin + size], "packet"))
        at = begin + size
    return packets


def slices(packets):
    """Every slice as a dictionary: name, category, track, start, end, facts, and its flows."""
    tables = {"names": {}, "categories": {}, "facts": {}, "texts": {}}
    tracks, open_slices, done = {}, {}, []
    for packet in packets:
        if "track" in packet:
            tracks[packet["track"]["uuid"]] = packet["track"]
        for table, entries in packet.get("interned", {}).items():
            for entry in entries:
                assert entry["iid"] not in tables[table], f"{table} {entry['iid']} twice"
                tables[table][entry["iid"]] = entry["name"]
    for packet in sorted((p for p in packets if "event" in p), key=lambda p: p["timestamp"]):
        event = packet["event"]
        if event["type"] == 1:
            facts = {tables["facts"][fact["name_iid"]]:
                     tables["texts"][fact["text_iid"]] if "text_iid" in fact
                     else fact.get("json", fact.get("uint", fact.get("int")))
                     for fact in event.get("facts", [])}
            open_slices.setdefault(event["track"], []).append({
                "name": tables["names"][event["name_iid"]],
                "category": tables["categories"][event["category"]],
                "track": tracks[event["track"]], "start": packet["timestamp"], "facts": facts,
                "flow": event.get("flow"), "last_of_flow": event.get("last_of_flow")})
        elif event["type"] == 2:
            ended = open_slices[event["track"]].pop()
            done.append(dict(ended, end=packet["timestamp"]))
    return done
