package ansible

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

const (
	// lineLimit bounds a record. The callback stays below half of it.
	lineLimit = 2 << 20
	// readBuffer is large enough for most records.
	readBuffer = 64 << 10
)

// record is one line of the callback.
type record struct {
	Ev        string                     `json:"ev"`
	Nonce     string                     `json:"n"`
	Time      float64                    `json:"t"`
	Text      string                     `json:"text"`
	Version   string                     `json:"version"`
	Play      string                     `json:"play"`
	Pattern   string                     `json:"pattern"`
	Matched   *int                       `json:"matched"`
	Inventory *int                       `json:"inventory"`
	Task      string                     `json:"task"`
	Name      string                     `json:"name"`
	Action    string                     `json:"action"`
	Path      string                     `json:"path"`
	Role      string                     `json:"role"`
	Handler   bool                       `json:"handler"`
	Check     bool                       `json:"check"`
	Resource  string                     `json:"resource"`
	Notified  []string                   `json:"notified"`
	Status    string                     `json:"status"`
	Host      string                     `json:"host"`
	Item      string                     `json:"item"`
	Msg       string                     `json:"msg"`
	Out       string                     `json:"out"`
	Err       string                     `json:"err"`
	RC        *int                       `json:"rc"`
	Changed   bool                       `json:"changed"`
	Ignored   bool                       `json:"ignored"`
	Became    bool                       `json:"became"` // another user, on this machine
	Cut       bool                       `json:"cut"`
	MS        int64                      `json:"ms"`
	Attempt   int                        `json:"attempt"`
	Of        int                        `json:"of"`
	Diff      json.RawMessage            `json:"diff"`
	Facts     json.RawMessage            `json:"facts"`
	Custom    map[string]json.RawMessage `json:"custom"`
	Hosts     map[string]hostStats       `json:"hosts"`
}

// hostStats is one host's line of the recap, with Ansible's names.
type hostStats struct {
	OK          int `json:"ok"`
	Changed     int `json:"changed"`
	Failures    int `json:"failures"`
	Unreachable int `json:"unreachable"`
	Skipped     int `json:"skipped"`
	Rescued     int `json:"rescued"`
	Ignored     int `json:"ignored"`
}

// decode calls yield with every record that contains the nonce and returns the number of other lines: too long, no
// record, or without the nonce. Only a failed read ends it before the end of the stream.
func decode(r io.Reader, nonce string, yield func(record)) (bad int, err error) {
	lines := bufio.NewReaderSize(r, readBuffer)
	for {
		line, whole, err := readLine(lines)
		if len(line) > 0 || !whole {
			var rec record
			if whole && json.Unmarshal(line, &rec) == nil && rec.Nonce == nonce && rec.Ev != "" {
				yield(rec)
			} else {
				bad++
			}
		}
		if errors.Is(err, io.EOF) {
			return bad, nil
		}
		if err != nil {
			return bad, err
		}
	}
}

// readLine returns the next line without its line break, and whether it is complete; it discards a line over the
// limit.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > lineLimit {
			line, whole = nil, false
		}
		if whole {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
		}
		return line, whole, err
	}
}
