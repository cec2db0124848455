"""Two-way coupling of the pressure with rigid bodies: one system for the liquid's pressure and the bodies' velocities."""
