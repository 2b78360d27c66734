"""Decodes a Perfetto trace by Perfetto's own schema and says what is on its tracks as JSON.

    python3 -m venv /tmp/pf && /tmp/pf/bin/pip install perfetto
    /tmp/pf/bin/python crates/schedlab/tests/perfetto_tracks.py FILE
"""

import json
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent


def main(file):
    trace = Trace()
    with open(file, "rb") as opened:
        trace.ParseFromString(opened.read())
    described, slices, open_slices, events = {}, {}, {}, 0
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.uuid in described:
                sys.exit(f"track {track.uuid} is described twice")
            parent = described[track.parent_uuid] + " / " if track.parent_uuid else ""
            described[track.uuid] = parent + track.name
        if packet.HasField("ftrace_events"):
            events += len(packet.ftrace_events.event)
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        on = slices.setdefault(described[event.track_uuid], [])
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            open_slices.setdefault(event.track_uuid, []).append(len(on))
            on.append([event.name, packet.timestamp, None])
        elif event.type == TrackEvent.TYPE_SLICE_END:
            on[open_slices[event.track_uuid].pop()][2] = packet.timestamp
        else:
            on.append([event.name, packet.timestamp, packet.timestamp])
    unfinished = [name for name, on in slices.items() if any(end is None or end < begin for _, begin, end in on)]
    if unfinished:
        sys.exit(f"slices without an end on {unfinished}")
    print(json.dumps({"events": events, "tracks": slices}))


if __name__ == "__main__":
    main(*sys.argv[1:])
