package launch

import (
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
)

// spark draws the last outcomes of a template as squares, the oldest first. Each state has a shape of its own, so that
// the colour only repeats it.
func spark(x row) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		const step = 12
		_, err := fmt.Fprintf(w, `<svg class="spark" viewBox="0 0 %d 10" role="img" aria-label="%s">`,
			maxOutcome*step, templ.EscapeString(outcomesText(x)))
		for i := len(x.last) - 1; i >= 0 && err == nil; i-- {
			run := x.last[i]
			glyph := shell.StateOf(run.Status, run.Spec.DryRun).Glyph
			_, err = fmt.Fprintf(w, `<path class="s-%s" d="M%d 0%s"/>`, shell.Hue(glyph),
				(maxOutcome-1-i)*step, shape(glyph))
		}
		if err == nil {
			_, err = io.WriteString(w, "</svg>")
		}
		return err //nolint:wrapcheck // the writer is a buffer
	})
}

// shape is the path of a square of ten, from its upper left corner.
func shape(glyph string) string {
	switch glyph {
	case "done": // small: what is fine is quiet
		return "m2 2h6v6h-6z"
	case "fail", "deny": // whole, with a notch
		return "h10v10h-10zm3.5 3.5v3h3v-3z"
	case "lost": // cut in two
		return "h10v3.5h-10zm0 6.5h10v3.5h-10z"
	case "hold": // two bars
		return "h3.5v10h-3.5zm6.5 0h3.5v10h-3.5z"
	case "now": // a rhomb
		return "m5 0l5 5-5 5-5-5z"
	}
	return "m1 4h8v2h-8z" // pending, skipped, canceled: a line
}
