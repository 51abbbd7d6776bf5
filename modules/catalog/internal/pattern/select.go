package pattern

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
)

// Limits of the work for one limit.
const (
	maxSteps    = 300_000_000 // matches of names, and hosts that are added, kept or removed
	maxListed   = 10_000_000  // groups and hosts that patterns match
	maxWarnings = 100
)

// Resolve returns the hosts that a limit selects; an empty limit selects all. An unknown name is a warning. An Invalid
// fault names limit.
func (e *Index) Resolve(ctx context.Context, limit string) (catalog.Resolution, error) {
	s, err := e.choose(ctx, limit)
	if err != nil {
		return catalog.Resolution{}, err
	}
	return s.resolution(), nil
}

// Digest returns the SHA-256 of the names of the hosts that a limit selects, in hex.
func (e *Index) Digest(ctx context.Context, limit string) (string, error) {
	s, err := e.choose(ctx, limit)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for i, ok := range s.chosen {
		if ok {
			fmt.Fprintln(h, e.content.Hosts[i])
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Names returns the names of the hosts that a limit selects, in inventory order.
func (e *Index) Names(ctx context.Context, limit string) ([]string, error) {
	s, err := e.choose(ctx, limit)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for i, ok := range s.chosen {
		if ok {
			out = append(out, e.content.Hosts[i])
		}
	}
	return out, nil
}

func (e *Index) choose(ctx context.Context, limit string) (*selection, error) {
	list, err := split(limit)
	if err != nil {
		return nil, err
	}
	s := &selection{index: e, chosen: make([]bool, len(e.content.Hosts)), known: map[string]answer{}}
	for _, p := range inOrder(list) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.take(p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// inOrder sorts the patterns: first those that add, then those that intersect, then those that exclude. If none adds,
// it begins with all hosts.
func inOrder(list []string) []string {
	var regular, both, without []string
	for _, p := range list {
		switch p[0] {
		case '&':
			both = append(both, p)
		case '!':
			without = append(without, p)
		default:
			regular = append(regular, p)
		}
	}
	if len(regular) == 0 {
		regular = []string{all}
	}
	return slices.Concat(regular, both, without)
}

// selection is the state of a resolution.
type selection struct {
	index    *Index
	chosen   []bool
	known    map[string]answer // by pattern without its modifier
	warnings []string
	dropped  int
	steps    int
	listed   int
}

type answer struct{ hosts []int32 }

// take adds, keeps or removes the hosts of a pattern.
func (s *selection) take(p string) error {
	if h, ok := s.index.hosts[p]; ok {
		s.chosen[h] = true
		return nil
	}
	bare := strings.TrimLeft(p[:1], "&!") + p[1:]
	if bare == "" {
		return bad("%q names nothing", p)
	}
	hosts, err := s.hosts(bare)
	if err != nil {
		return err
	}
	if err := s.spend(len(hosts)); err != nil {
		return err
	}
	if p[0] == '&' {
		if err := s.spend(len(s.chosen) / 8); err != nil {
			return err
		}
		kept := make([]bool, len(s.chosen))
		for _, h := range hosts {
			kept[h] = s.chosen[h]
		}
		s.chosen = kept
		return nil
	}
	for _, h := range hosts {
		s.chosen[h] = p[0] != '!'
	}
	return nil
}

// hosts returns the hosts of a pattern without a modifier.
func (s *selection) hosts(p string) ([]int32, error) {
	if a, ok := s.known[p]; ok {
		return a.hosts, nil
	}
	expr, sub := cutSubscript(p)
	list, err := s.fitting(expr, sub != nil)
	if err != nil {
		return nil, err
	}
	cut, ok := sub.cut(list)
	if !ok {
		return nil, bad("%q: there is no host at this place", short(p))
	}
	s.known[p] = answer{cut}
	return cut, nil
}

// fitting returns the hosts of the groups that match a pattern. It adds the hosts that match the pattern themselves if
// no group matches or the pattern is more than a plain name. With counted, for a subscript, a host in several groups
// occurs once per group, as in Ansible.
func (s *selection) fitting(p string, counted bool) ([]int32, error) {
	m, err := compile(p)
	if err != nil {
		return nil, err
	}
	groups, err := s.groups(m)
	if err != nil {
		return nil, err
	}
	out, err := s.members(groups, counted)
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 || p[0] == '~' || strings.ContainsAny(p, ".?*[") {
		hosts, err := s.named(m)
		if err != nil {
			return nil, err
		}
		out = append(out, hosts...)
	}
	if len(out) == 0 && len(groups) == 0 && p != all {
		s.warn("nothing in the inventory has the name or fits the pattern %q", short(p))
	}
	return out, nil
}

func (s *selection) groups(m matcher) ([]int32, error) {
	if m.exact() {
		if g, ok := s.index.groups[m.name]; ok {
			return []int32{g}, nil
		}
		return nil, nil
	}
	var out []int32
	for i := range s.index.of {
		ok, steps := m.fits(s.index.of[i].name)
		if err := s.spend(steps); err != nil {
			return nil, err
		}
		if ok {
			out = append(out, int32(i)) //nolint:gosec // limited by the parser
		}
	}
	return out, nil
}

// named returns the hosts that match a pattern. It only examines names with the pattern's prefix.
func (s *selection) named(m matcher) ([]int32, error) {
	if m.exact() {
		if h, ok := s.index.hosts[m.name]; ok {
			return []int32{h}, nil
		}
		return nil, nil
	}
	var out []int32
	for _, h := range s.index.beginning(m.prefix) {
		ok, steps := m.fits(s.index.content.Hosts[h])
		if err := s.spend(steps); err != nil {
			return nil, err
		}
		if ok {
			out = append(out, h)
		}
	}
	if s.listed += len(out); s.listed > maxListed {
		return nil, errTooMany()
	}
	slices.Sort(out)
	return out, nil
}

func (s *selection) spend(steps int) error {
	if s.steps += steps; s.steps > maxSteps {
		return errTooMany()
	}
	return nil
}

func errTooMany() error {
	return bad("has too many wildcards and expressions for an inventory of this size")
}

// members returns the hosts of the groups and of the groups below them.
func (s *selection) members(groups []int32, counted bool) ([]int32, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	roots := [][]int32{groups}
	if counted {
		roots = roots[:0]
		for _, g := range groups {
			roots = append(roots, []int32{g})
		}
	}
	var out []int32
	for _, r := range roots {
		below := s.index.below(r...)
		hosts := s.distinct(below)
		if s.listed += len(below) + len(hosts); s.listed > maxListed {
			return nil, bad("names too many groups for an inventory of this size")
		}
		out = append(out, hosts...)
	}
	return out, nil
}

// distinct returns the hosts of the groups, each once.
func (s *selection) distinct(groups []int32) []int32 {
	var out []int32
	seen := make(map[int32]struct{})
	for _, g := range groups {
		for _, h := range s.index.of[g].hosts {
			if _, ok := seen[h]; !ok {
				seen[h] = struct{}{}
				out = append(out, h)
			}
		}
	}
	return out
}

func (s *selection) warn(format string, args ...any) {
	if len(s.warnings) == maxWarnings {
		s.dropped++
		return
	}
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

func (s *selection) resolution() catalog.Resolution {
	e := s.index
	r := catalog.Resolution{Groups: []string{}, Sample: []string{}, Warnings: s.warnings}
	touched := make([]bool, len(e.of))
	var direct []int32
	for h, ok := range s.chosen {
		if !ok {
			continue
		}
		r.Count++
		if len(r.Sample) < catalog.MaxSample {
			r.Sample = append(r.Sample, e.content.Hosts[h])
		}
		for _, g := range e.direct[h] {
			if !touched[g] {
				touched[g] = true
				direct = append(direct, g)
			}
		}
	}
	for _, g := range e.above(direct, make([]int32, len(e.of)), 1) {
		r.Groups = append(r.Groups, e.of[g].name)
	}
	slices.Sort(r.Groups)
	if s.dropped > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d more patterns fit nothing", s.dropped))
	}
	if r.Count == 0 && len(r.Warnings) == 0 {
		r.Warnings = []string{"no host is selected"}
	}
	return r
}
