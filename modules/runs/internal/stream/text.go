package stream

import (
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/runs"
)

// sendLog tells a chunk that begins at or after the follower's offset. A character whose bytes have not all come is
// held back until the rest is there, so that every chunk is text by itself wherever the output is.
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
	return f.emit(runs.Update{Log: &runs.LogChunk{Offset: start, Data: data[:whole]}})
}

// flush tells what was held back: nothing more comes that could complete it.
func (f *follower) flush() error {
	if len(f.carry) == 0 {
		return nil
	}
	c := runs.LogChunk{Offset: f.offset - int64(len(f.carry)), Data: f.carry}
	f.carry = nil
	return f.emit(runs.Update{Log: &c})
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
