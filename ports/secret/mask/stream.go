package mask

// Replacement replaces a secret.
const Replacement = "***"

// Stream masks one stream of bytes. It is not safe for concurrent use.
type Stream struct {
	m       *Masker
	state   int32
	pending []byte // bytes not emitted yet, from position start on
	off     int    // number of emitted bytes in pending
	start   int64  // position of pending[off] in the stream
	spans   []span // parts of pending that belong to secrets, in order
	open    bool   // the first span's replacement was emitted
}

// span is an interval [from, to) of the stream.
type span struct{ from, to int64 }

// Stream starts a stream.
func (m *Masker) Stream() *Stream { return &Stream{m: m} }

// Append appends to dst the part of p, and of the bytes held back, that is safe to show, and returns it.
func (s *Stream) Append(dst, p []byte) []byte {
	if s.m.Empty() {
		return append(dst, p...)
	}
	m := s.m
	for i := 0; i < len(p); {
		if s.state == 0 {
			j := i
			for j < len(p) && m.root[p[j]] == 0 {
				j++
			}
			dst = append(dst, p[i:j]...)
			s.start += int64(j - i)
			if i = j; i == len(p) {
				break
			}
		}
		b := p[i]
		i++
		s.pending = append(s.pending, b)
		s.state = m.step(s.state, b)
		n := &m.nodes[s.state]
		end := s.start + int64(len(s.pending)-s.off)
		if n.match > 0 {
			s.mark(span{end - int64(n.match), end})
		}
		if safe := end - int64(n.depth); safe > s.start {
			dst = s.emit(dst, safe)
		}
	}
	return dst
}

// Close appends the bytes held back to dst and resets the stream.
func (s *Stream) Close(dst []byte) []byte {
	dst = s.emit(dst, s.start+int64(len(s.pending)-s.off))
	s.state = 0
	return dst
}

// mark adds a secret that ends at the newest byte; spans stay in order and disjoint.
func (s *Stream) mark(n span) {
	for len(s.spans) > 0 {
		last := s.spans[len(s.spans)-1]
		if last.to < n.from {
			break
		}
		n.from = min(n.from, last.from)
		s.spans = s.spans[:len(s.spans)-1]
	}
	s.spans = append(s.spans, n)
}

// emit appends everything before position until.
func (s *Stream) emit(dst []byte, until int64) []byte {
	for s.start < until {
		next := until
		if len(s.spans) > 0 && s.spans[0].from <= s.start {
			if !s.open {
				dst = append(dst, Replacement...)
				s.open = true
			}
			if next = min(until, s.spans[0].to); next == s.spans[0].to {
				s.spans = append(s.spans[:0], s.spans[1:]...)
				s.open = false
			}
			s.off += int(next - s.start)
		} else {
			if len(s.spans) > 0 {
				next = min(until, s.spans[0].from)
			}
			n := int(next - s.start)
			dst = append(dst, s.pending[s.off:s.off+n]...)
			s.off += n
		}
		s.start = next
	}
	s.compact()
	return dst
}

// compact frees space once half of the buffer is emitted, so that holding back many bytes does not copy the buffer for
// each byte.
func (s *Stream) compact() {
	if s.off == len(s.pending) {
		s.pending, s.off = s.pending[:0], 0
	} else if s.off > len(s.pending)/2 && s.off > 64 {
		s.pending = s.pending[:copy(s.pending, s.pending[s.off:])]
		s.off = 0
	}
}
