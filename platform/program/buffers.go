package program

// headBuffer keeps the beginning and fails a write beyond its size, which ends the program.
type headBuffer struct {
	kept []byte
	over bool
}

func (b *headBuffer) Write(p []byte) (int, error) {
	if len(b.kept)+len(p) > MaxStdout {
		b.over = true
		return 0, ErrTooMuch
	}
	b.kept = append(b.kept, p...)
	return len(p), nil
}

// tailBuffer keeps the end.
type tailBuffer struct{ kept []byte }

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p...)
	if len(b.kept) > 2*MaxStderr {
		b.kept = append(b.kept[:0], b.kept[len(b.kept)-MaxStderr:]...)
	}
	return len(p), nil
}

func (b *tailBuffer) bytes() []byte { return b.kept[max(0, len(b.kept)-MaxStderr):] }
