package runs

import (
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/runs"
)

// LogPiece is a piece of the log in a stream.
type LogPiece struct {
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
	// Next is the offset behind the piece, by which a reader comes back: what was no text is longer in Text than it was.
	Next int64 `json:"next"`
}

func piece(at int64, data []byte) LogPiece {
	return LogPiece{Offset: at, Text: string(data), Next: at + int64(len(data))}
}

// runeBuffer holds back a character that a chunk's end cut in two until its rest arrives, so that JSON does not turn
// both halves into replacement characters.
type runeBuffer struct {
	held []byte
	at   int64 // offset of held
}

// take returns what of the chunk can be told now, behind what was held back before it.
func (c *runeBuffer) take(chunk runs.LogChunk) []LogPiece {
	var out []LogPiece
	if len(c.held) > 0 && c.at+int64(len(c.held)) != chunk.Offset {
		// The bytes between were dropped: what was held back stays as it is.
		out = append(out, piece(c.at, c.held))
		c.held = nil
	}
	data := chunk.Data
	at := chunk.Offset
	if len(c.held) > 0 {
		data = append(append([]byte{}, c.held...), chunk.Data...)
		at = c.at
	}
	cut := len(data) - partial(data)
	c.held, c.at = append([]byte{}, data[cut:]...), at+int64(cut)
	if cut > 0 {
		out = append(out, piece(at, data[:cut]))
	}
	return out
}

// flush returns what is still held back when nothing follows.
func (c *runeBuffer) flush() (LogPiece, bool) {
	last, ok := piece(c.at, c.held), len(c.held) > 0
	c.held = nil
	return last, ok
}

// partial returns how many bytes at the end begin a character that is not complete.
func partial(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
