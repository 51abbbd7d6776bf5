package crontime

import "testing"

func TestZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT-2"} {
		if loc, err := Zone(name); err != nil || loc.String() != name {
			t.Errorf("%s: %v, %v", name, loc, err)
		}
	}
	for _, name := range []string{"", "Local", "localtime", "posix/Europe/Berlin", "+02:00", "../etc/passwd",
		"Mars/Olympus", "Europe/../UTC"} {
		if loc, err := Zone(name); err == nil {
			t.Errorf("%q is %v", name, loc)
		}
	}
}
