"""Decodes the samples of a Perfetto trace by Perfetto's own schema and says what they are as JSON: how many of each
call chain (`outermost;…;innermost`), and the threads that they are of.

    python3 -m venv /tmp/pf && /tmp/pf/bin/pip install perfetto
    /tmp/pf/bin/python crates/schedlab/tests/perfetto_samples.py FILE
"""

import json
import sys
from collections import Counter

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket


def main(file):
    trace = Trace()
    with open(file, "rb") as opened:
        trace.ParseFromString(opened.read())
    functions, paths, mappings, frames, chains, threads = {}, {}, {}, {}, {}, {}
    stacks, images, times, clear = Counter(), set(), [], False
    for packet in trace.packet:
        clear |= bool(packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
        interned = packet.interned_data
        functions.update((entry.iid, entry.str.decode()) for entry in interned.function_names)
        paths.update((entry.iid, entry.str.decode()) for entry in interned.mapping_paths)
        mappings.update((entry.iid, paths[entry.path_string_ids[0]]) for entry in interned.mappings)
        frames.update((entry.iid, entry) for entry in interned.frames)
        chains.update((entry.iid, entry.frame_ids) for entry in interned.callstacks)
        threads.update((thread.tid, thread) for thread in packet.process_tree.threads)
        if not packet.HasField("perf_sample"):
            continue
        if not clear or not packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE:
            sys.exit("a sample before the tables, or that does not say that it needs them")
        sample = packet.perf_sample
        chain = [frames[iid] for iid in chains[sample.callstack_iid]] if sample.HasField("callstack_iid") else []
        stacks[";".join(functions[frame.function_name_id].replace(";", ":") for frame in chain)] += 1
        images.update(mappings[frame.mapping_id] for frame in chain)
        times.append(packet.timestamp)
        if sample.tid and threads[sample.tid].tgid != sample.pid:
            sys.exit(f"thread {sample.tid} is of two processes")
    names = sorted({thread.name for thread in threads.values()})
    span = max(times) - min(times) if times else 0
    print(json.dumps({"stacks": stacks, "threads": names, "images": sorted(images), "span_ns": span}))


if __name__ == "__main__":
    main(*sys.argv[1:])
