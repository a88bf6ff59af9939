c     Tasks of a Fortran program tell their parent; the order in which they arrive comes back. The program's own path is
c     its first argument, since Fortran does not know it.
      program order
      include 'fpvm3.h'
      integer me, parent, tids(3), n, i, j, info, buffer, length
      integer tag, source
      character*256 path
      call pvmfmytid(me)
      call pvmfparent(parent)
      if (parent .gt. 0) then
         do i = 1, 4
            call pvmfinitsend(PVMDEFAULT, info)
            call pvmfpack(INTEGER4, me, 1, 1, info)
            call pvmfsend(parent, i, info)
         end do
         call pvmfexit(info)
         stop
      end if
      call getarg(1, path)
      call pvmfspawn(trim(path), PVMDEFAULT, '*', 3, tids, n)
      do i = 1, 4 * n
         call pvmfrecv(-1, -1, buffer)
         call pvmfbufinfo(buffer, length, tag, source, info)
         call pvmfunpack(INTEGER4, j, 1, 1, info)
         print *, tag, source, j
      end do
      call pvmfexit(info)
      end
