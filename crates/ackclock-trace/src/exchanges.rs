//! The tables of requests and responses, of rounds of them, and of videos.

use ackclock_units::{Duration, Instant, Rate};

use crate::table::{Label, table};

table! {
    /// One request and its complete response, of applications that make many on a connection (`http`,
    /// `fan-in`, `video`).
    ///
    /// Those whose response ended in the flow's window, from `measured_from` on; later ones than `duration`
    /// are of flows that are followed through `drain`.
    "exchanges" ExchangeRow {
        /// Label of the run that it belongs to.
        run: Label, "";
        /// Label of the stack under test.
        stack: Label, "";
        /// Number of its flow in the run.
        flow: u32, "";
        /// Group of the workload that it belongs to.
        group: Label, "";
        /// Its number among those of its flow, from 0 on.
        number: u32, "";
        /// When the request was made.
        start: Instant, "s";
        /// From the request to the last byte of the response.
        response_time: Duration, "s";
        /// Payload of the response.
        bytes: u64, "B";
    }
}

table! {
    /// One round of a fan-in: all flows of a workload make a request, and the next round begins when all have
    /// their response.
    ///
    /// Rounds that are complete, and ended in the window of the run.
    "rounds" RoundRow {
        /// Label of the run that it belongs to.
        run: Label, "";
        /// Label of the stack of its flows; `mix` where they have several.
        stack: Label, "";
        /// Group of the workload that it belongs to.
        group: Label, "";
        /// Its number, from 0 on.
        round: u32, "";
        /// When the first request was made.
        start: Instant, "s";
        /// From the first request to the last byte of the last response.
        completion_time: Duration, "s";
        /// Responses; fewer than flows where flows have failed.
        responses: u32, "";
        /// Payload of all responses.
        bytes: u64, "B";
        /// The same per time.
        goodput: Option<Rate>, "bit/s";
    }
}

table! {
    /// One video, of a flow that plays one.
    ///
    /// Counters count from the flow's `measured_from` on. What is downloaded of a complete video counts as
    /// played.
    "playback" PlaybackRow {
        /// Label of the run that it belongs to.
        run: Label, "";
        /// Label of the stack under test.
        stack: Label, "";
        /// Number of its flow in the run.
        flow: u32, "";
        /// Group of the workload that it belongs to.
        group: Label, "";
        /// From the first request until playing began; missing while it has not.
        startup_delay: Option<Duration>, "s";
        /// Interruptions: the buffer was empty, and more of the video was to come.
        stalls: u32, "";
        /// Time in them.
        stalled: Duration, "s";
        /// Time of playing.
        played: Duration, "s";
        /// Share of the time after the start of playing that was spent in stalls: `stalled` over `stalled`
        /// and `played`.
        rebuffering: Option<f64>, "";
        /// Chunks downloaded.
        chunks: u32, "";
        /// Payload of the chunks.
        bytes: u64, "B";
        /// The same over the time that the chunks play.
        bitrate: Option<Rate>, "bit/s";
        /// Changes of the bitrate from one chunk to the next.
        switches: u32, "";
        /// Time of playing in the buffer when the run or the flow ended.
        buffer: Duration, "s";
    }
}
