# One row for each used block of two arms, from `schedlab report RUN --json`: means of the block's two trials of each arm.
# jq -r -f blocks.jq findings.json
def blocks($metric; $arm):
  first(.metrics[] | select(.name == $metric)).values[$arm].trials
  | map(select(.used)) | group_by(.block) | map({key: "\(.[0].block)", value: (map(.value) | add / length)}) | from_entries;
def fixed($digits): . * pow(10; $digits) | round / pow(10; $digits);

.workloads[0]
| blocks("cpus_utilized"; 0) as $off_cpus | blocks("cpus_utilized"; 1) as $on_cpus
| blocks("cpu_s_per_gb"; 0) as $off | blocks("cpu_s_per_gb"; 1) as $on
| blocks("received_bytes_per_s"; 0) as $off_rate | blocks("received_bytes_per_s"; 1) as $on_rate
| blocks("tcp_autocorkings_per_s"; 0) as $off_corks | blocks("tcp_autocorkings_per_s"; 1) as $on_corks
| "| block | CPUs off | on | s/GB off | on | on/off | MB/s off | on | corkings/s off | on |",
  "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
  ($off | keys | map(tonumber) | sort[] | tostring | . as $b |
    "| \($b) | \($off_cpus[$b] | fixed(3)) | \($on_cpus[$b] | fixed(3)) | \($off[$b] | fixed(2)) | \($on[$b] | fixed(2)) "
    + "| \($on[$b] / $off[$b] | fixed(3)) | \($off_rate[$b] / 1e6 | fixed(1)) | \($on_rate[$b] / 1e6 | fixed(1)) "
    + "| \($off_corks[$b] | fixed(0)) | \($on_corks[$b] | fixed(0)) |")
