// Package policies is the section of the web interface with policies, what they would have done, and windows.
package policies
