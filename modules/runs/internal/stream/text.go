package stream

import (
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/runs"
)

// sendLog sends the part of a chunk after the follower's offset. It keeps an incomplete character at the end until
// its remaining bytes arrive, so that every chunk of text output is valid text by itself.
func (f *follower) sendLog(c runs.LogChunk) error {
	end := c.Offset + int64(len(c.Data))
	if end <= f.offset {
		return nil
	}
	if c.Offset < f.offset {
		c = runs.LogChunk{Offset: f.offset, Data: c.Data[f.offset-c.Offset:]}
	}
	if c.Offset > f.offset {
		if err := f.flush(); err != nil {
			return err
		}
	}
	start := c.Offset - int64(len(f.carry))
	data := c.Data
	if len(f.carry) > 0 {
		data = append(f.carry, c.Data...)
	}
	whole := len(data) - partial(data)
	f.offset = end
	f.carry = append([]byte(nil), data[whole:]...)
	if whole == 0 {
		return nil
	}
	return f.emitLog(runs.LogChunk{Offset: start, Data: data[:whole]})
}

// flush sends the incomplete character, since no more bytes follow it.
func (f *follower) flush() error {
	if len(f.carry) == 0 {
		return nil
	}
	c := runs.LogChunk{Offset: f.offset - int64(len(f.carry)), Data: f.carry}
	f.carry = nil
	return f.emitLog(c)
}

func (f *follower) emitLog(c runs.LogChunk) error {
	key := textKey{kind: logText, from: c.Offset, to: c.Offset + int64(len(c.Data))}
	return f.emit(runs.Update{Log: &c, Text: f.sub.text(key, len(c.Data))})
}

// partial returns the number of bytes of an incomplete character at the end.
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
