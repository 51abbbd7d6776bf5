package query

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

func debian() estate.Facts {
	return estate.Facts{
		"ansible_os_family": json.RawMessage(`"Debian"`), "ansible_distribution_version": json.RawMessage(`"12.10"`),
		"ansible_kernel": json.RawMessage(`"6.1.0-21-amd64"`), "ansible_memtotal_mb": json.RawMessage(`3915`),
		"ansible_processor_vcpus":               json.RawMessage(`4`),
		"ansible_default_ipv4.address":          json.RawMessage(`"10.0.0.7"`),
		"ansible_mounts./.size_available":       json.RawMessage(`5368709120`),
		"ansible_mounts./.size_total":           json.RawMessage(`21474836480`),
		"ansible_mounts./.fstype":               json.RawMessage(`"ext4"`),
		`ansible_mounts."/srv/a.b".device`:      json.RawMessage(`"/dev/sdb1"`),
		`ansible_mounts."/srv/a.b".size_total`:  json.RawMessage(`0`),
		`ansible_"eth0.10".mtu`:                 json.RawMessage(`1400`),
		`"eth0.10".mtu`:                         json.RawMessage(`1400`),
		"ansible_all_ipv4_addresses":            json.RawMessage(`["10.0.0.7","192.168.1.2"]`),
		"ansible_virtualization_tech_guest":     json.RawMessage(`[]`),
		"ansible_is_chroot":                     json.RawMessage(`false`),
		"ansible_nothing":                       json.RawMessage(`null`),
		"packages.nginx.version":                json.RawMessage(`"1.22.1-9+deb12u1"`),
		"ansible_local.app.tier":                json.RawMessage(`"web \"front\""`),
		"ansible_python.version.serial":         json.RawMessage(`1e2`),
		"ansible_date_time.epoch":               json.RawMessage(`"1700000000"`),
		"ansible_lsb":                           json.RawMessage(`{}`),
		"ansible_system_capabilities_enforced.": json.RawMessage(`"N/A"`),
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q    string
		want bool
	}{
		{"", true}, {"  ", true},
		{"os.family=Debian and mounts./.free_gb<5", false}, {"os.family=Debian and mounts./.free_gb<=5", true},
		{"mounts./.size_gb=20", true}, {"mounts./.used_percent=75", true}, {"mounts./.fstype = ext4", true},
		{`mounts."/srv/a.b".device=/dev/sdb1`, true}, {`mounts."/srv/a.b".used_percent>=0`, false},
		{"mounts./home.free_gb<5", false}, {"not mounts./home.free_gb<5", true},
		{`"eth0.10".mtu=1400`, true}, {`"eth0.10".mtu>1400`, false},
		{"os.version=12.10", true}, {"os.version>12.9", true}, {"os.version<12.9", false}, {"os.version=12.010", true},
		{"os.version!=12.10", false}, {"os.version!=12.1", true}, {"os.version>=12", true},
		{"kernel>=6.1", true}, {"kernel<6.1.0-100-amd64", true}, {"kernel=6.1.0.21.amd64", false}, {"kernel~AMD64", true},
		{"packages.nginx.version>=1.2.10", true}, {"packages.nginx.version<1.22.1-10", true},
		{"memory.total_mb<4000", true}, {"memory.total_mb=3915.0", true}, {"memory.total_mb=4e3", false},
		{"memory.total_mb<many", false}, {"memory.total_mb!=many", true}, {"memory.total_mb<Inf", false},
		{"cpu.count = 4", true}, {"python.version.serial=100", true},
		{"ip=10.0.0.7", true}, {"ansible_default_ipv4.address=10.0.0.7", true}, {"default_ipv4.address=10.0.0.8", false},
		{"all_ipv4_addresses=192.168.1.2", true}, {"all_ipv4_addresses!=192.168.1.2", false},
		{"all_ipv4_addresses!=192.168.1.3", true}, {"all_ipv4_addresses~168", true},
		{"virtualization_tech_guest!=kvm", false}, {"virtualization_tech_guest=kvm", false},
		{"is_chroot=false", true}, {"is_chroot=False", false}, {"nothing=null", false}, {"nothing!=x", false},
		{"absent!=x", false}, {"not absent=x", true}, {"not (absent=x)", true}, {"lsb=x", false}, {"lsb!=x", false},
		{`local.app.tier="web \"front\""`, true}, {`local.app.tier~FRONT`, true},
		{"host=web1", true}, {"host~WEB", true}, {"host=web2 or host=web1", true}, {"ansible_host=web1", false},
		{"host=web2 and host=web1 or os.family=Debian", true}, {"host=web2 and (host=web1 or os.family=Debian)", false},
		{"NOT host=web2 AND os.family=Debian", true}, {"not not host=web1", true},
		{"not host=web2 and host=web2", false}, {`host="and" or host=web1`, true},
		{"date_time.epoch<99999999999999999999999999", true},
	} {
		x, err := Parse(c.q)
		if err != nil {
			t.Errorf("%s: %v", c.q, err)
			continue
		}
		for _, f := range []estate.Facts{debian(), selected(debian(), x)} {
			if got := x.Fits("web1", f); got != c.want {
				t.Errorf("%s with %d facts: %v", c.q, len(f), got)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"os.family":                        "column 10: expected one of = != < <= > >= ~",
		"os.family=":                       "column 11: expected a value",
		"os.family=and":                    "column 11: expected a value; and as text needs quotes",
		"a=1 b=2":                          "column 5: expected and, or, or the end of the query",
		"a=1 and":                          "column 8: expected a key",
		"é=1 or (b=2":                      "column 12: expected )",
		"a=1)":                             "column 4: expected and, or, or the end of the query",
		`a="x`:                             "column 3: the quote does not end",
		`a="x\n"`:                          `column 5: only \" and \\ begin with a backslash`,
		"a..b=1":                           "column 3: expected a key",
		"a==1":                             "column 3: expected a value",
		"a=\xff":                           "is not UTF-8",
		"a=1\x00":                          "column 4: expected and, or, or the end of the query",
		strings.Repeat("not ", 33) + "a=1": "column 133: is nested deeper than 32",
		strings.Repeat("(", 1000):          "column 34: is nested deeper than 32",
		"a=" + strings.Repeat("é", 999):    "is longer than 1000 characters",
	} {
		_, err := Parse(q)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Location != "q" ||
			f.Fields[0].Message != want {
			t.Errorf("%.20q: %v, not %s", q, err, want)
		}
	}
	if _, err := Parse("a=" + strings.Repeat("é", 998) + " "); err == nil {
		t.Error("1001 characters are accepted")
	}
	if _, err := Parse(strings.Repeat("(", 32) + "a=1" + strings.Repeat(")", 32)); err != nil {
		t.Error(err)
	}
}

// selected leaves the facts that a query says it compares.
func selected(f estate.Facts, x *Query) estate.Facts {
	maps.DeleteFunc(f, func(key string, _ json.RawMessage) bool { return !estate.Selected(key, x.Keys()) })
	return f
}
