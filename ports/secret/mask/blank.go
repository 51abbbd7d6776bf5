package mask

// Blank returns a copy of data with stars over each byte of a secret, and how many bytes at the end may be the
// beginning of one. Those are given again at the beginning of the next data. hidden is the number of bytes at the
// beginning of data that are known to belong to a secret, and then its number for the next data: such a secret may have
// begun before. Positions in the data stay what they are.
func (m *Masker) Blank(data []byte, hidden int) (out []byte, undecided, next int) {
	out = append(make([]byte, 0, len(data)), data...)
	if m.Empty() {
		return out, 0, 0
	}
	at, from, to := int32(0), 0, 0 // [from, to) is the last stretch of stars
	for i, b := range data {
		at = m.step(at, b)
		n := int(m.nodes[at].match)
		if n == 0 {
			continue
		}
		begin := i + 1 - n
		if begin > to {
			from, to = begin, begin
		}
		stars(out[min(begin, from):from])
		stars(out[to : i+1])
		from, to = min(begin, from), i+1
	}
	stars(out[:hidden])
	undecided = int(m.nodes[at].depth)
	for _, b := range out[len(out)-undecided:] {
		if b != '*' {
			break
		}
		next++
	}
	return out, undecided, next
}

func stars(p []byte) {
	for i := range p {
		p[i] = '*'
	}
}
