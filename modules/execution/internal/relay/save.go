package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/modules/execution/internal/hostkeys"
	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/modules/execution/internal/summary"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret/mask"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	maxText     = 4 << 10 // of an error and of a warning, as in executors
	maxWarnings = 100
	// maxOutputs bounds the outputs of a run, by events and by its file, where a mask may be longer than the masked
	// text.
	maxOutputs = 4 * rundir.MaxOutputs
	// maxLog is an upper bound of every log offset.
	maxLog = 1 << 50
)

var (
	sha256Hex   = lazyregexp.New(`^[0-9a-f]{64}$`)
	warningCode = lazyregexp.New(`^[a-z0-9_]{1,64}$`)
	toolVersion = lazyregexp.New(`^[0-9A-Za-z.+~_-]{0,64}$`)
)

func (r *Relay) Beat(ctx context.Context, h execution.Leaseholder) (execution.RelayBeat, error) {
	l, err := r.lease(ctx, h)
	if err != nil {
		return execution.RelayBeat{}, err
	}
	b, err := r.beat(ctx, l)
	if err != nil {
		return execution.RelayBeat{}, err
	}
	r.touch(ctx, l.Worker)
	return execution.RelayBeat{LeaseSeconds: int(runs.LeaseTTL / time.Second), CancelRequested: b.CancelRequested}, nil
}

func (r *Relay) Run(ctx context.Context, h execution.Leaseholder) (execution.RelayRun, error) {
	run, err := r.bearerRun(ctx, h)
	if err != nil {
		return execution.RelayRun{}, err
	}
	run.Vars = run.Vars.Redact()
	out := execution.NewRelayRun(run)
	out.NextSeq = run.EventCount + 1
	return out, nil
}

// The commit of a run is fixed at its creation, so the worker's is ignored; a worker sends no counts: they are
// computed from the stored results.
func (r *Relay) Save(ctx context.Context, h execution.Leaseholder, s execution.RelaySave) error {
	l, err := r.lease(ctx, h)
	if err != nil {
		return err
	}
	if err := checkSave(&s); err != nil {
		return err
	}
	switch s.Status {
	case runs.Running:
		return r.Plane.Begin(ctx, l)
	case runs.Pending:
		err = r.release(ctx, l)
	default:
		err = r.finish(ctx, l, &s)
	}
	if err == nil {
		r.over(ctx, l)
	}
	return err
}

// over forgets a claim that has ended.
func (r *Relay) over(ctx context.Context, l runs.Lease) {
	r.hosts.drop(l)
	r.startRevoke(l)
	if err := r.Masks.Drop(ctx, l); err != nil { // ForgetSecrets tries again
		r.Log.WarnContext(ctx, "delete the secrets of a claim", "run", l.RunID, "error", err)
	}
}

// release releases a run. RunStateChanged is only for one that began and is held.
func (r *Relay) release(ctx context.Context, l runs.Lease) error {
	err := r.Plane.Release(ctx, l)
	if runs.RunStateChanged.Is(err) {
		if _, gone := r.leasedRun(ctx, l); gone != nil {
			return gone
		}
	}
	return err
}

func (r *Relay) Divide(ctx context.Context, h execution.Leaseholder, d execution.RelayDivision) error {
	l, err := r.lease(ctx, h)
	if err != nil {
		return err
	}
	if err := checkDivision(&d); err != nil {
		return err
	}
	run, err := r.leasedRun(ctx, l)
	if err != nil {
		return err
	}
	if run.Kind != runs.Split {
		return fault.BadField("hosts", "the run is no split")
	}
	m, err := r.Masks.Of(ctx, l)
	if err != nil {
		return err
	}
	if err = r.Plane.Divide(ctx, l, d.Hosts, masked(m, d.Warnings)); err == nil {
		r.over(ctx, l)
	}
	return err
}

// masked returns warnings without secrets.
func masked(m *mask.Masker, list []runs.Warning) []runs.Warning {
	out := slices.Clone(list)
	for i := range out {
		out[i].Message = cut(m.String(out[i].Message))
	}
	return out
}

// finish ends a run. Its results on its hosts are computed from the stored data.
func (r *Relay) finish(ctx context.Context, l runs.Lease, s *execution.RelaySave) error {
	hosts, err := r.Records.Summaries.Hosts(ctx, l.RunID)
	if err != nil && !runs.RunNotFound.Is(err) {
		return fmt.Errorf("read what the run did: %w", err)
	}
	m, err := r.Masks.Of(ctx, l)
	if err != nil {
		return err
	}
	// The same ending comes again where its answer was lost: then the lease is over.
	if err := r.Masks.EndLog(ctx, r.Plane, l); err != nil && !runs.LeaseLost.Is(err) {
		return err
	}
	end := s.Ending()
	end.Commit, end.Error, end.Warnings = "", cut(m.String(end.Error)), masked(m, end.Warnings)
	for i := range end.AcceptedHostKeys {
		end.AcceptedHostKeys[i].Host = m.String(end.AcceptedHostKeys[i].Host)
	}
	if end.Outputs, err = maskedVars(m, end.Outputs); err != nil {
		return err
	}
	if r.Secrets != nil {
		for _, text := range r.Secrets.Warnings(secrets.Owner{ID: l.RunID, Epoch: l.Epoch}) {
			end.Warnings = append(end.Warnings, runs.Warning{Code: runs.WarnSecretNotRenewed, Message: text})
		}
	}
	end.Counts, end.Touched = summary.Counts(hosts), touched(hosts)
	return r.Plane.Finish(ctx, l, end)
}

// maskedVars returns outputs without secrets, also in their names.
func maskedVars(m *mask.Masker, v runs.Vars) (runs.Vars, error) {
	if len(v) == 0 || m.Empty() {
		return v, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fault.BadField("outputs", "hold what is no JSON")
	}
	var out runs.Vars
	if err := json.Unmarshal(m.JSON(raw), &out); err != nil {
		return nil, fmt.Errorf("mask the outputs of a run: %w", err)
	}
	return out, nil
}

// touched counts hosts with any result.
func touched(hosts []runs.HostSummary) int {
	n := 0
	for i := range hosts {
		h := &hosts[i]
		if h.Worst == runs.HostIncomplete || h.OK+h.Changed+h.Failed+h.Unreachable+h.Skipped+h.Rescued+h.Ignored > 0 {
			n++
		}
	}
	return n
}

// checkSave validates a body.
func checkSave(s *execution.RelaySave) error {
	switch s.Status {
	case runs.Running, runs.Pending, runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted:
	default:
		return fault.BadField("status", "%.32q is nothing that a worker moves a run to", s.Status)
	}
	switch {
	case s.ExitCode != nil && (*s.ExitCode < math.MinInt32 || *s.ExitCode > math.MaxInt32):
		return fault.BadField("exit_code", "is not the exit code of a process")
	case s.LogBytes < 0 || s.LogBytes > maxLog:
		return fault.BadField("log_bytes", "expected a number from 0 on")
	case s.LogSHA256 != "" && !sha256Hex.MatchString(s.LogSHA256):
		return fault.BadField("log_sha256", "expected 64 hexadecimal digits")
	case !toolVersion.MatchString(s.Version):
		return fault.BadField("tool_version", "expected at most 64 letters, digits, points and signs")
	case !plainIsolation(s.Isolation):
		return fault.BadField("isolation", "expected the names of a level and a profile")
	case s.StartedAt != nil && !moment(*s.StartedAt):
		return fault.BadField("started_at", "is not when a run started")
	case s.EndedAt != nil && !moment(*s.EndedAt):
		return fault.BadField("ended_at", "is not when a run ended")
	}
	if err := checkWarnings(s.Warnings); err != nil {
		return err
	}
	if err := checkHostKeys(s.HostKeys); err != nil {
		return err
	}
	return checkOutputs(s.Outputs)
}

func checkHostKeys(list []runs.HostKey) error {
	if len(list) > runs.MaxHostKeys {
		return fault.BadField("accepted_host_keys", "has more than %d members", runs.MaxHostKeys)
	}
	for i := range list {
		if at := fmt.Sprintf("accepted_host_keys[%d]", i); !hostkeys.Valid(&list[i]) {
			return fault.BadField(at, "expected the name of a host, the type of a key and SHA256: with its digest in base64")
		}
	}
	return nil
}

func checkWarnings(list []runs.Warning) error {
	if len(list) > maxWarnings {
		return fault.BadField("warnings", "has more than %d members", maxWarnings)
	}
	for i := range list {
		if !warningCode.MatchString(list[i].Code) {
			return fault.BadField(fmt.Sprintf("warnings[%d].code", i), "expected small letters, digits and _")
		}
	}
	return nil
}

func checkDivision(d *execution.RelayDivision) error {
	switch n := len(d.Hosts); {
	case n == 0:
		return fault.BadField("hosts", "a split is divided over at least one host")
	case n > execution.RelayHosts:
		return fault.BadField("hosts", "has more than %d members", execution.RelayHosts)
	}
	for i, name := range d.Hosts {
		at := fmt.Sprintf("hosts[%d]", i)
		if err := checkHost(at, name); err != nil {
			return err
		}
		if strings.HasPrefix(name, "-") { // it becomes part of an argument
			return fault.BadField(at, "is not the name of a host")
		}
	}
	return checkWarnings(d.Warnings)
}

func checkOutputs(v runs.Vars) error {
	size := 0
	for k, raw := range v {
		if size += len(k) + len(raw); size > maxOutputs {
			return fault.BadField("outputs", "are larger than %d bytes", maxOutputs)
		}
		if !json.Valid(raw) {
			return fault.BadField("outputs", "hold what is no JSON")
		}
	}
	return nil
}

// cut shortens a displayed text to its limit, at a character boundary.
func cut(s string) string {
	if len(s) > maxText {
		n := maxText
		for n > maxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
