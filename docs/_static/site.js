// The sliders of live figures.
for (const live of document.querySelectorAll(".live")) {
  const frames = live.querySelectorAll("figure");
  live.querySelector("input").addEventListener("input", (event) => {
    frames.forEach((frame, n) => { frame.hidden = n !== Number(event.target.value); });
    live.querySelector("output").textContent = frames[event.target.value].dataset.value;
  });
}
