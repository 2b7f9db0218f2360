# Long-lived SACK flows over a drop-tail dumbbell in ns-2, for `bench/run.py`.
#
#   ns bench/ns2_dumbbell.tcl FLOWS RATE_BIT_PER_S SECONDS QUEUE_PACKETS WINDOW_BYTES MIN_RTT_MS MAX_RTT_MS
#
# Prints one line of JSON. The layout of the path is described in bench/README.md.

proc cpu_seconds {} {
    set f [open /proc/self/schedstat]
    set ns [lindex [gets $f] 0]
    close $f
    return [expr {$ns / 1e9}]
}

proc memory_kb {key} {
    set f [open /proc/self/status]
    set text [read $f]
    close $f
    regexp "$key:\\s+(\\d+)" $text -> kb
    return $kb
}

lassign $argv flows rate seconds queue window min_rtt max_rtt
set classes [expr {min($flows, 20)}]

# Every packet has all headers known to ns-2 unless they are removed: 1.7 times slower.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Calendar

Agent/TCP set packetSize_ 1000
Agent/TCP set window_ [expr {$window / 1000}]
Agent/TCP set minrto_ 0.2
Agent/TCP set windowInit_ 10
Queue set limit_ 10000000

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $rate 1ms DropTail
$ns simplex-link $right $left $rate 1ms DropTail
$ns queue-limit $left $right $queue
for {set c 0} {$c < $classes} {incr c} {
    if {$classes == 1} {
        set rtt [expr {($min_rtt + $max_rtt) / 2.0}]
    } else {
        set rtt [expr {$min_rtt + ($max_rtt - $min_rtt) * $c / ($classes - 1.0)}]
    }
    set sender($c) [$ns node]
    set receiver($c) [$ns node]
    $ns duplex-link $sender($c) $left [expr {10.0 * $rate}] 0ms DropTail
    $ns duplex-link $right $receiver($c) [expr {10.0 * $rate}] [expr {$rtt / 2 - 1}]ms DropTail
}
for {set i 0} {$i < $flows} {incr i} {
    set tcp($i) [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $sender([expr {$i % $classes}]) $tcp($i)
    $ns attach-agent $receiver([expr {$i % $classes}]) $sink
    $ns connect $tcp($i) $sink
    # An endless backlog; starts are spread over the first second.
    $ns at [expr {double($i) / $flows}] "$tcp($i) send -1"
}

# Counts packets that leave the queue and packets that it drops.
set monitor [new QueueMonitor]
set out [new SnoopQueue/Out]
set drop [new SnoopQueue/Drop]
set link [$ns link $left $right]
set fifo [$link queue]
$out set-monitor $monitor
$drop set-monitor $monitor
$out target [$fifo target]
$fifo target $out
$drop target [$ns set nullAgent_]
$fifo drop-target $drop

proc finish {} {
    global flows monitor begin setup rss tcp
    set cpu [expr {[cpu_seconds] - $begin}]
    set sent 0
    set rexmit 0
    set timeouts 0
    for {set i 0} {$i < $flows} {incr i} {
        incr sent [$tcp($i) set ndatapack_]
        incr rexmit [$tcp($i) set nrexmitpack_]
        incr timeouts [$tcp($i) set nrexmit_]
    }
    puts "{\"packets\": [expr {int([$monitor set pdepartures_])}], \"drops\": [expr {int([$monitor set pdrops_])}],\
        \"sent\": $sent, \"retransmissions\": $rexmit, \"timeouts\": $timeouts,\
        \"cpu_s\": $cpu, \"setup_s\": $setup, \"peak_kb\": [memory_kb VmHWM], \"before_kb\": $rss}"
    flush stdout
    exit 0
}

# Routes are computed and agents reset by `run` itself, before time 0: still set-up.
$ns at 0.0 {
    set begin [cpu_seconds]
    set setup $begin
    set rss [memory_kb VmRSS]
}
$ns at $seconds finish
$ns run
