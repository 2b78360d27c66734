# One row for each pair of neighbouring trials of two arms, from `schedlab report RUN --json`: a mirrored block
# (off on on off, or on off off on) holds two.
# jq -r -f pairs.jq findings.json
def trials($metric; $arm):
  first(.metrics[] | select(.name == $metric)).values[$arm].trials | map(select(.used)) | sort_by(.trial);
def fixed($digits): . * pow(10; $digits) | round / pow(10; $digits);

.workloads[0]
| [trials("cpus_utilized"; 0), trials("cpus_utilized"; 1)] as $cpus
| [trials("cpu_s_per_gb"; 0), trials("cpu_s_per_gb"; 1)] as $cost
| [trials("received_bytes_per_s"; 0), trials("received_bytes_per_s"; 1)] as $rate
| [trials("mean_segment_bytes"; 0), trials("mean_segment_bytes"; 1)] as $segment
| [trials("tcp_autocorkings_per_s"; 0), trials("tcp_autocorkings_per_s"; 1)] as $corks
| "| pair | block | first | CPUs off | on | s/GB off | on | on/off | MB/s off | on | segment off | on | corkings/s off | on |",
  "|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
  (range($cost[0] | length) as $i
    | (if $cost[0][$i].trial < $cost[1][$i].trial then "off" else "on" end) as $first
    | "| \($i + 1) | \($cost[0][$i].block) | \($first) | \($cpus[0][$i].value | fixed(3)) | \($cpus[1][$i].value | fixed(3)) "
    + "| \($cost[0][$i].value | fixed(2)) | \($cost[1][$i].value | fixed(2)) "
    + "| \($cost[1][$i].value / $cost[0][$i].value | fixed(3)) "
    + "| \($rate[0][$i].value / 1e6 | fixed(1)) | \($rate[1][$i].value / 1e6 | fixed(1)) "
    + "| \($segment[0][$i].value | fixed(0)) | \($segment[1][$i].value | fixed(0)) "
    + "| \($corks[0][$i].value | fixed(0)) | \($corks[1][$i].value | fixed(0)) |")
