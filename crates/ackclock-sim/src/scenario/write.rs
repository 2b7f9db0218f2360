//! Writes a resolved scenario as TOML.

use std::fmt::Write as _;

use ackclock_policy::{Chosen, Params, Value};
use ackclock_units::Duration;

use super::elements::{ElementPlans, JitterPlan};
use super::link::LinkPlan;
use super::path::PathPlan;
use super::rtt::RttPlan;
use super::stack::StackPlan;
use super::text::{inline, quoted, value};
use super::web::WebPlan;
use super::workload::{Body, WorkloadPlan};
use crate::fault::Fault;
use crate::link::SchedulePoint;
use crate::workload::{Base, Cdf};

fn time(d: Duration) -> String {
    quoted(&d.to_string())
}

fn list<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    format!("[{}]", items.into_iter().map(|s| quoted(s)).collect::<Vec<_>>().join(", "))
}

fn fault(f: &Chosen<dyn Fault>) -> String {
    inline(Some(f.name()), f.params())
}

fn elements(out: &mut String, e: &ElementPlans) {
    if let Some(mtu) = e.mtu {
        let _ = writeln!(out, "mtu = {}", value(Value::Bytes(mtu)));
    }
    for (name, params) in [("policer", &e.policer), ("shaper", &e.shaper), ("half_duplex", &e.half_duplex)] {
        if let Some(params) = params {
            let _ = writeln!(out, "{name} = {}", inline(None, params));
        }
    }
    if let Some(schedule) = &e.schedule {
        let points: Vec<_> = schedule.points.iter().map(point).collect();
        let (points, params) = (points.join(", "), inline(None, &schedule.params));
        let _ = writeln!(out, "schedule = {}, points = [{points}] }}", params.trim_end_matches(" }"));
    }
    match &e.jitter {
        Some(JitterPlan { params, points: Some(points) }) => {
            let (reorder, points) = (params.flag("reorder"), cdf_points(points));
            let _ = writeln!(out, "jitter = {{ reorder = {reorder}, points = [{points}] }}");
        }
        Some(JitterPlan { params, points: None }) => {
            let _ = writeln!(out, "jitter = {}", inline(None, params));
        }
        None => {}
    }
    if let Some(trace) = &e.mahimahi {
        let times: Vec<_> = trace.times.iter().map(u32::to_string).collect();
        let (times, params) = (quoted(&times.join(" ")), inline(None, &trace.params));
        let _ = writeln!(out, "mahimahi = {}, times = {times} }}", params.trim_end_matches(" }"));
    }
}

fn cdf_points(cdf: &Cdf) -> String {
    // Without an exponent the digits of the largest double fill 300 columns, and no reader takes them.
    let number =
        |x: f64| if x == 0.0 || (1e-6..1e15).contains(&x) { format!("{x}") } else { format!("{x:e}") };
    let pair = |(x, p): &(f64, f64)| format!("[{}, {}]", number(*x), number(*p));
    cdf.points().iter().map(pair).collect::<Vec<_>>().join(", ")
}

fn point(p: &SchedulePoint) -> String {
    let mut out = format!("{{ at = {}", time(p.at));
    let changes = [("rate", p.rate.map(Value::Rate)), ("delay", p.delay.map(Value::Duration))];
    for (name, change) in changes.into_iter().chain([("loss", p.loss.map(Value::Ratio))]) {
        if let Some(change) = change {
            let _ = write!(out, ", {name} = {}", value(change));
        }
    }
    out + " }"
}

fn link(out: &mut String, l: &LinkPlan) {
    if let Some(rate) = l.rate {
        let _ = writeln!(out, "rate = {}", quoted(&rate.to_string()));
    }
    let _ = writeln!(out, "delay = {}", time(l.delay));
    if let Some(queue) = &l.queue {
        let _ = writeln!(out, "queue = {}", inline(Some(queue.name()), queue.params()));
    }
    elements(out, &l.elements);
    if !l.faults.is_empty() {
        let faults: Vec<_> = l.faults.iter().map(|f| format!("    {},\n", fault(f))).collect();
        let _ = writeln!(out, "faults = [\n{}]", faults.concat());
    }
}

fn rtt(plan: &RttPlan) -> String {
    match plan {
        RttPlan::Links => quoted("links"),
        RttPlan::Constant(d) => time(*d),
        RttPlan::Uniform(a, b) => format!("{{ uniform = [{}, {}] }}", time(*a), time(*b)),
        RttPlan::List(all) => list(&all.iter().map(ToString::to_string).collect::<Vec<_>>()),
    }
}

/// Writes `[path]` and its tables.
pub(super) fn path(out: &mut String, p: &PathPlan) {
    let _ = writeln!(out, "[path]\nkind = {}\nrtt = {}", quoted(p.kind), rtt(&p.rtt));
    let mut table = |header: &str, l: &LinkPlan| {
        let _ = writeln!(out, "\n{header}");
        link(out, l);
    };
    match p.kind {
        "single" | "dumbbell" => {
            let word = if p.kind == "single" { "link" } else { "bottleneck" };
            table(&format!("[path.{word}]"), &p.edges[0].link);
            p.edges[0].back.iter().for_each(|l| table("[path.back]", l));
            if let Some(access) = p.edges.get(1) {
                table("[path.access]", &access.link);
            }
        }
        "chain" => {
            for e in &p.edges {
                table("[[path.links]]", &e.link);
                e.back.iter().for_each(|l| table("[path.links.back]", l));
            }
        }
        _ => {
            let _ = writeln!(out, "nodes = {}", list(&p.nodes));
            for e in &p.edges {
                let _ = writeln!(
                    out,
                    "\n[[path.edges]]\nname = {}\nfrom = {}\nto = {}",
                    quoted(&e.name),
                    quoted(&e.from),
                    quoted(&e.to)
                );
                link(out, &e.link);
                match &e.back {
                    None => out.push_str("back = false\n"),
                    Some(back) => {
                        let _ = writeln!(out, "\n[path.edges.back]");
                        link(out, back);
                    }
                }
            }
        }
    }
}

/// Writes one `[[workload]]`.
pub(super) fn workload(out: &mut String, w: &WorkloadPlan, stacks: &[StackPlan]) {
    let _ = writeln!(out, "\n[[workload]]\nname = {}\nkind = {}", quoted(&w.name), quoted(&w.kind));
    let _ =
        writeln!(out, "client = {}\nserver = {}\nrtt = {}", list(&w.clients), list(&w.servers), rtt(&w.rtt));
    if let Some(i) = w.stack {
        let _ = writeln!(out, "stack = {}", quoted(&stacks[i].label));
    }
    let mut params = |p: &Params| {
        for (name, v) in p.iter() {
            let _ = writeln!(out, "{name} = {}", value(v));
        }
    };
    match &w.body {
        Body::Udp { params: p, control, .. } => {
            params(p);
            if let Some(control) = control {
                let _ = writeln!(out, "control = {}", inline(Some(control.name()), control.params()));
            }
        }
        Body::Flows { params: p, app, peer } => {
            params(p);
            params(app.params());
            // A parameter that both declare is set by one key.
            for (name, v) in
                peer.params().iter().filter(|(name, _)| app.params().iter().all(|(n, _)| n != *name))
            {
                let _ = writeln!(out, "{name} = {}", value(v));
            }
            let _ = writeln!(out, "peer = {}", quoted(peer.name()));
        }
        Body::Web(web) => web_body(out, web),
        Body::Log(log) => {
            params(&log.params);
            let rows: Vec<_> = log.rows.iter().map(|r| format!("[{}, {}]", time(r.at), r.bytes)).collect();
            let _ = writeln!(out, "transfers = [{}]", rows.join(", "));
        }
    }
}

fn web_body(out: &mut String, web: &WebPlan) {
    for (name, v) in web.params.iter() {
        let written = match name {
            "load" => web.load.is_some(),
            "arrival_rate" => web.load.is_none(),
            _ => true,
        };
        if written {
            let _ = writeln!(out, "{name} = {}", value(v));
        }
        if name == "load" && written {
            let _ = writeln!(
                out,
                "# That is {} flows per second of {} bytes on average.",
                web.params.ratio("arrival_rate"),
                web.sizes.mean()
            );
        }
    }
    match &web.sizes.base {
        Base::Empirical(cdf) => {
            let _ = writeln!(out, "sizes = {{ kind = \"cdf\", points = [{}] }}", cdf_points(cdf));
        }
        _ => {
            let _ = writeln!(out, "sizes = {}", inline(Some(web.sizes_kind), &web.sizes_params));
        }
    }
    let _ = writeln!(out, "arrivals = {}", inline(Some(web.arrivals_kind), &web.arrivals_params));
}
