"""From a spec to facts: the only stage that reads disks, machines and the Hub."""
