package ansible

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// tailSize is how much of the end of the output is searched for the reason of a failure.
	tailSize = 16 << 10
	// sentenceCap bounds that reason.
	sentenceCap = 600
)

// tailWriter passes on output and keeps its end.
type tailWriter struct {
	to   io.Writer
	last []byte
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.last = append(w.last, p[max(0, len(p)-tailSize):]...)
	if extra := len(w.last) - tailSize; extra > 0 {
		w.last = append(w.last[:0], w.last[extra:]...)
	}
	return w.to.Write(p)
}

// failure returns Ansible's last error that is not about a host, as one line; empty for none.
func (w *tailWriter) failure() string {
	text := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(string(w.last), "")
	at := -1
	for _, mark := range []string{"ERROR! ", "[ERROR]: "} {
		if i := strings.LastIndex("\n"+text, "\n"+mark); i >= 0 {
			at = max(at, i+len(mark))
		}
	}
	if at < 0 {
		return ""
	}
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text[at:], "�")), " ")
	if len(line) > sentenceCap {
		line = line[:sentenceCap]
		for !utf8.ValidString(line) {
			line = line[:len(line)-1]
		}
		line += "…"
	}
	return line
}

// limitLeavesNobody recognises Ansible's refusal to start when the limit matches no host of a valid inventory.
func limitLeavesNobody(sentence string) bool {
	return strings.Contains(sentence, "--limit") &&
		(strings.Contains(sentence, "no hosts to target") || strings.Contains(sentence, "does not match any hosts"))
}
