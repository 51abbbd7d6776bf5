package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// Frame is one Server-Sent Event, or a comment.
type Frame struct {
	Event, ID, Data string
	Comment         bool
}

// Ticket mints a stream ticket.
func (c Client) Ticket(id string) string {
	c.t.Helper()
	a := c.Do(http.MethodPost, "/v1/runs/"+id+"/stream-ticket", nil)
	var p struct {
		Ticket    string `json:"ticket"`
		ExpiresIn int    `json:"expires_in"`
	}
	a.JSON(c.t, &p)
	if a.Status != http.StatusOK || p.ExpiresIn != 30 || p.Ticket == "" {
		c.t.Fatalf("stream-ticket: %d %s", a.Status, a.Body)
	}
	return p.Ticket
}

// Stream opens a run's live stream and calls each with every frame until each stops it, the stream ends, or ctx ends.
func (c Client) Stream(ctx context.Context, id, query string, each func(Frame) (more bool)) int {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		c.URL+"/v1/runs/"+id+"/stream?ticket="+c.Ticket(id)+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := c.via().Do(req)
	if err != nil {
		c.t.Fatalf("stream: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode
	}
	var f Frame
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(make([]byte, 64<<10), 16<<20)
	for sc.Scan() {
		line := sc.Text()
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if f != (Frame{}) && !each(f) {
				return resp.StatusCode
			}
			f = Frame{}
		case key == "":
			f.Comment = true
		case key == "event":
			f.Event = value
		case key == "id":
			f.ID = value
		case key == "data":
			if f.Data != "" {
				f.Data += "\n"
			}
			f.Data += value
		}
	}
	return resp.StatusCode
}

// Follow reads a whole stream and returns its log text from the given offset, the sequence numbers of its events, and
// the statuses of its records.
func (c Client) Follow(
	ctx context.Context, id, query string,
) (log string, seqs []int64, statuses []string, ended bool) {
	c.t.Helper()
	var b strings.Builder
	c.Stream(ctx, id, query, func(f Frame) bool {
		switch f.Event {
		case "log":
			var l struct {
				Offset int64  `json:"offset"`
				Text   string `json:"text"`
			}
			if err := json.Unmarshal([]byte(f.Data), &l); err != nil {
				c.t.Errorf("log frame %q: %v", f.Data, err)
			}
			b.WriteString(l.Text)
		case "event":
			n, err := strconv.ParseInt(f.ID, 10, 64)
			if err != nil {
				c.t.Errorf("event id %q: %v", f.ID, err)
			}
			seqs = append(seqs, n)
		case "run":
			var r Run
			if err := json.Unmarshal([]byte(f.Data), &r); err != nil {
				c.t.Errorf("run frame: %v", err)
			}
			statuses = append(statuses, r.Status)
		case "end":
			ended = true
			return false
		}
		return true
	})
	return b.String(), seqs, statuses, ended
}
