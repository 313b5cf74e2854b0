// SPDX-License-Identifier: GPL-3.0-or-later
// Colours. Series take theirs by number; neighbours differ in lightness too, so that they stay apart for the colour-blind
// and in grey print. The first eight are after Okabe and Ito, the rest lies between them.

export interface Theme {
  name: "light" | "dark";
  background: string;
  text: string;
  muted: string;
  grid: string;
  mark: string;
  series: string[];
  /** From little to much, and from below neutral over it to above: as red, green, blue. */
  sequence: Rgb[];
  diverging: Rgb[];
}
type Rgb = [number, number, number];

const light: Theme = {
  name: "light",
  background: "#ffffff",
  text: "#1c2430",
  muted: "#5b6675",
  grid: "#e4e8ee",
  mark: "#7a4a00",
  series: [
    "#0060a8", "#d55e00", "#00805c", "#b03080", "#8a6d00", "#3a9bd9",
    "#8b1a1a", "#4b3fa0", "#5f8f1f", "#c2703d", "#2f6f7a", "#6b6b6b",
    "#9a5fd0", "#12406a", "#a83f5f", "#3f5f2f",
  ],
  sequence: [[247, 250, 253], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 48, 107], [4, 20, 52]],
  diverging: [[0, 92, 140], [120, 180, 214], [244, 245, 246], [238, 160, 110], [176, 56, 8]],
};

const dark: Theme = {
  name: "dark",
  background: "#161b22",
  text: "#e6eaf0",
  muted: "#9aa6b5",
  grid: "#2b333e",
  mark: "#e8b04a",
  series: [
    "#4ea8e8", "#ff8c42", "#2fc79a", "#e77fc0", "#e0c040", "#9fd4f7",
    "#f07070", "#a59cf5", "#a6d65a", "#f0b088", "#6cc4d0", "#b4b4b4",
    "#cda5f5", "#6f9fd0", "#f293ad", "#9cc088",
  ],
  sequence: [[28, 34, 44], [22, 66, 110], [30, 110, 160], [80, 165, 190], [170, 215, 170], [253, 240, 140]],
  diverging: [[110, 190, 240], [60, 110, 150], [42, 49, 59], [170, 95, 50], [255, 160, 100]],
};

export const themes = { light, dark };

export function seriesColour(theme: Theme, number: number): string {
  const n = theme.series.length;
  return theme.series[((Math.trunc(number) % n) + n) % n] ?? theme.text;
}

/** The colour at share, in 0 .. 1, of stops. */
export function between(stops: Rgb[], share: number): Rgb {
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  const a = stops[i]!;
  const b = stops[i + 1]!;
  return [0, 1, 2].map((k) => Math.round(a[k]! + (b[k]! - a[k]!) * (at - i))) as Rgb;
}

export function css(rgb: Rgb): string {
  return `rgb(${rgb.join(",")})`;
}

/** Black or white, whichever reads better on rgb. */
export function inkOn(rgb: Rgb): string {
  return rgb[0] * 0.299 + rgb[1] * 0.587 + rgb[2] * 0.114 > 140 ? "#111820" : "#ffffff";
}
