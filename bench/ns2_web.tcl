# Short flows with a heavy tail over a congested drop-tail dumbbell in ns-2, for `bench/run.py`.
#
#   ns bench/ns2_web.tcl ARRIVALS_FILE RATE_BIT_PER_S SECONDS QUEUE_PACKETS WINDOW_BYTES MIN_RTT_MS MAX_RTT_MS
#
# Each line of the arrivals file: seconds, bytes, number of the round-trip time's class (0-19). Each connection opens with a full handshake, sends
# its bytes and closes. Prints one line of JSON. The layout of the path is described in bench/README.md.

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

lassign $argv arrivals_file rate seconds queue window min_rtt max_rtt
set classes 20

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Calendar

Agent/TCP set window_ [expr {$window / 1000}]
Agent/TCP set minrto_ 0.2
Agent/TCP set windowInit_ 10
Agent/TCP/FullTcp set segsize_ 1000
Agent/TCP/FullTcp set segsperack_ 2
Agent/TCP/FullTcp set interval_ 0.1
Queue set limit_ 10000000

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $rate 1ms DropTail
$ns simplex-link $right $left $rate 1ms DropTail
$ns queue-limit $left $right $queue
for {set c 0} {$c < $classes} {incr c} {
    set rtt [expr {$min_rtt + ($max_rtt - $min_rtt) * $c / ($classes - 1.0)}]
    set sender($c) [$ns node]
    set receiver($c) [$ns node]
    $ns duplex-link $sender($c) $left [expr {10.0 * $rate}] 0ms DropTail
    $ns duplex-link $right $receiver($c) [expr {10.0 * $rate}] [expr {$rtt / 2 - 1}]ms DropTail
    # Closed pairs of agents are reused, per class. Creating agents is ns-2's largest cost; it counts as
    # set-up.
    set idle($c) {}
}

set monitor [new QueueMonitor]
set out [new SnoopQueue/Out]
set drop [new SnoopQueue/Drop]
set fifo [[$ns link $left $right] queue]
$out set-monitor $monitor
$drop set-monitor $monitor
$out target [$fifo target]
$fifo target $out
$drop target [$ns set nullAgent_]
$fifo drop-target $drop

set started 0
set finished 0
set made 0
set making 0.0

# Called when all data of an agent is acknowledged: its peer, which has received all of it, closes as well.
Agent/TCP/FullTcp instproc done_data {} {
    global ns
    $self instvar pair
    if {[lindex $pair 0] eq $self} {
        $ns at [$ns now] "[lindex $pair 1] close"
    }
}

# Called when a connection's end is closed.
Agent/TCP/FullTcp instproc done {} {
    global ns finished
    $self instvar pair
    set head [lindex $pair 0]
    $head instvar open
    incr open -1
    if {$open == 0} {
        incr finished
        # Twice the segment lifetime that ns-3 is given.
        $ns at [expr {[$ns now] + 1.0}] "recycle $head"
    }
}

proc recycle {head} {
    global idle
    $head instvar pair rtt_class
    lappend idle($rtt_class) $pair
}

proc begin_flow {bytes c} {
    global ns sender receiver idle started made making
    incr started
    if {[llength $idle($c)]} {
        set two [lindex $idle($c) end]
        set idle($c) [lrange $idle($c) 0 end-1]
        lassign $two source sink
        $source reset
        $sink reset
    } else {
        set before [cpu_seconds]
        set source [new Agent/TCP/FullTcp/Sack]
        set sink [new Agent/TCP/FullTcp/Sack]
        incr made
        $ns attach-agent $sender($c) $source
        $ns attach-agent $receiver($c) $sink
        $ns connect $source $sink
        $source set pair [list $source $sink]
        $sink set pair [list $source $sink]
        $source set rtt_class $c
        set making [expr {$making + [cpu_seconds] - $before}]
    }
    $source set open 2
    $sink listen
    $source sendmsg $bytes DAT_EOF
}

proc next_flow {} {
    global ns file upcoming
    lassign $upcoming at bytes c
    begin_flow $bytes $c
    if {[gets $file upcoming] > 0} {
        $ns at [lindex $upcoming 0] next_flow
    }
}

proc finish {} {
    global started finished made making monitor begin setup rss
    set cpu [expr {[cpu_seconds] - $begin - $making}]
    puts "{\"connections\": $started, \"finished\": $finished, \"made\": $made, \"packets\": [expr {int([$monitor set pdepartures_])}],\
        \"drops\": [expr {int([$monitor set pdrops_])}],\
        \"cpu_s\": $cpu, \"setup_s\": [expr {$setup + $making}], \"peak_kb\": [memory_kb VmHWM], \"before_kb\": $rss}"
    flush stdout
    exit 0
}

$ns at 0.0 {
    set begin [cpu_seconds]
    set setup $begin
    set rss [memory_kb VmRSS]
}
set file [open $arrivals_file]
gets $file upcoming
$ns at [lindex $upcoming 0] next_flow
$ns at $seconds finish
$ns run
