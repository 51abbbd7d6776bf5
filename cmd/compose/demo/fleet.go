package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Hosts is how many hosts the fleet has, Large how many the inventory of the large run.
const (
	Hosts = 240
	Large = 5000
)

// Drifting is how many hosts drift.
const Drifting = 23

// unchecked reports whether the comparisons with the baseline do not reach a host of the fleet.
func unchecked(host int) bool { return host%60 == 59 }

// expiring reports whether the certificate of an edge host, by its number among those, is due.
func expiring(edge int) bool { return edge%5 == 0 }

// drifting chooses the hosts that differ from the baseline. Those with a certificate that is due are among them, since
// the dry run of its rotation is a finding too and the whole fleet has as many drifting hosts as the baseline.
func (s *Seeder) drifting() []int {
	var list []int
	for i, name := range chosen(s.fleet, "edge*") {
		if expiring(i) {
			list = append(list, slices.Index(s.fleet, name))
		}
	}
	for _, h := range s.rng.Perm(Hosts) {
		if len(list) < Drifting && !unchecked(h) && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	return list
}

func regions() []string { return []string{"eu", "us", "ap"} }

// fleet lists the hosts by role and region.
func fleet() []string {
	var list []string
	for _, r := range []struct {
		role string
		each int
	}{{"web", 40}, {"api", 20}, {"edge", 10}, {"db", 10}} {
		for _, region := range regions() {
			for i := range r.each {
				list = append(list, fmt.Sprintf("%s-%s-%04d", r.role, region, i+1))
			}
		}
	}
	return list
}

// network lists the hosts of the large inventory.
func network() []string {
	kinds := []string{"web", "web", "web", "api", "edge"}
	list := make([]string, Large)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%s-%04d", kinds[i%5], regions()[i%3], i+1)
	}
	return list
}

// chosen returns the hosts that a limit of the demo selects: names that begin with one of its parts.
func chosen(hosts []string, limit string) []string {
	if limit == "" {
		return hosts
	}
	var out []string
	for _, h := range hosts {
		for part := range strings.SplitSeq(limit, ":") {
			if prefix, all := strings.CutSuffix(part, "*"); h == part || all && strings.HasPrefix(h, prefix) {
				out = append(out, h)
				break
			}
		}
	}
	return out
}

// inventory writes hosts with a group for each role and region as an INI file.
func inventory(hosts []string) []byte {
	groups, order := map[string][]string{}, []string{}
	for _, h := range hosts {
		parts := strings.Split(h, "-")
		for _, g := range parts[:2] {
			if groups[g] == nil {
				order = append(order, g)
			}
			groups[g] = append(groups[g], h)
		}
	}
	var b strings.Builder
	for _, g := range order {
		fmt.Fprintf(&b, "[%s]\n%s\n\n", g, strings.Join(groups[g], "\n"))
	}
	b.WriteString("[production:children]\n" + strings.Join(order, "\n") + "\n")
	return []byte(b.String())
}

// kernels are the versions that the waves of updates install.
func kernels() []string { return []string{"6.1.0-18-amd64", "6.1.0-21-amd64", "6.1.0-25-amd64"} }

// waveOf returns how many updates of the kernel a host had at a time of the history. The regions follow each other, and
// databases come last.
func waveOf(host string, since time.Duration) int {
	role, rest, _ := strings.Cut(host, "-")
	lag := map[string]int{"eu": 0, "us": 3, "ap": 6}[rest[:2]]
	if role == "db" {
		lag += 12
	}
	days, wave := int(since/day), 0
	for _, begin := range []int{20, 58} {
		if days >= begin+lag {
			wave++
		}
	}
	return wave
}

// facts returns what a gathering finds on the host with a number.
func facts(host string, n int, since time.Duration) json.RawMessage {
	role, rest, _ := strings.Cut(host, "-")
	memory := map[string]int{"web": 7951, "api": 15982, "edge": 3936, "db": 64214}[role]
	release := "12.5"
	if since > 45*day && rest[:2] != "ap" {
		release = "12.6"
	}
	doc := map[string]any{
		"ansible_hostname": host, "ansible_kernel": kernels()[waveOf(host, since)], "ansible_distribution": "Debian",
		"ansible_distribution_version": release, "ansible_os_family": "Debian", "ansible_architecture": "x86_64",
		"ansible_memtotal_mb": memory, "ansible_processor_vcpus": max(2, memory/4000),
		"ansible_default_ipv4":   map[string]any{"address": fmt.Sprintf("10.%d.%d.%d", n%7, n/250, n%250+1)},
		"ansible_uptime_seconds": int64(since/time.Second) % 1_700_000, "ansible_python_version": "3.11.2",
	}
	raw, err := json.Marshal(doc)
	if err != nil { // the document has nothing that JSON lacks
		return json.RawMessage("{}")
	}
	return raw
}
