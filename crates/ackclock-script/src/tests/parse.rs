#[test]
fn corpus() {
    let dir = std::env::var("SCRIPTS").unwrap();
    let list = std::process::Command::new("find").args([&dir, "-name", "*.pkt"]).output().unwrap();
    let (mut good, mut bad) = (0, 0);
    for f in String::from_utf8(list.stdout).unwrap().lines() {
        match super::parse(f, &std::fs::read_to_string(f).unwrap(), &[]) {
            Ok(s) => {
                good += 1;
                if std::env::var("SHOW").is_ok() {
                    println!("{s:#?}")
                }
            }
            Err(e) => {
                bad += 1;
                println!("{e}")
            }
        }
    }
    println!("{good} {bad}");
}
